#pragma once

#include "launch/job.h"

namespace toprun::launch {

// Inside an mpiexec of Hydra: asks it for the job's name, and tells all its processes where rank 0
// is. Nothing to do elsewhere. Blocks until all of them have come.
Result<void> meet(scheduler::Allocation& place, const Environment& environment);

}  // namespace toprun::launch
