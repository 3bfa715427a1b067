#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "engines/allocation.h"
#include "engines/mpi/pmi.h"
#include "node/plan/options.h"

namespace toprun::plan {

// The hosts from --hosts or --hostfile; empty if neither option was given. Reads the file. `notes`
// receives warnings about the file.
Result<std::vector<engines::Node>> named_hosts(const Options& options,
                                               std::vector<std::string>& notes);

// For a process that Hydra's mpiexec started. All processes of this mpiexec exchange the job's name
// and the address of rank 0. Blocks until all of these processes have called this function. If
// mpiexec did not start this process, returns nullopt.
Result<std::optional<engines::PmiMeeting>> meet(const Environment& environment);

}  // namespace toprun::plan
