#pragma once

#include <optional>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "engines/mpi/pmi.h"

namespace toprun::plan {

// Inside an mpiexec of Hydra: all processes exchange the job's name and the address of rank 0.
// Blocks until all processes take part. Elsewhere: returns nullopt.
Result<std::optional<engines::PmiMeeting>> meet(const Environment& environment);

}  // namespace toprun::plan
