#pragma once

#include "base/error.h"
#include "plan/job.h"
#include "scheduler/allocation.h"

namespace toprun::plan {

// The allocation with only as many nodes as the launch takes. Where the network is known the others
// are those without which the job sits closest together (placement/spares.h); else which nodes are
// taken is left to the engine. Blocks while the topology's sources are read; says what it left out.
Result<scheduler::Allocation> needed_nodes(const Job& job);

}  // namespace toprun::plan
