#pragma once

#include <optional>

#include "base/environment.h"
#include "base/error.h"
#include "scheduler/mpi/pmi.h"

namespace toprun::plan {

// Inside an mpiexec of Hydra: all its processes learn the job's name and where rank 0 is. Nothing
// elsewhere. Blocks until all of them have come.
Result<std::optional<scheduler::PmiMeeting>> meet(const Environment& environment);

}  // namespace toprun::plan
