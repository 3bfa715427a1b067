#pragma once

#include "base/error.h"
#include "plan/job.h"
#include "scheduler/allocation.h"

namespace toprun::plan {

// Reduces the allocation to the nodes that the launch needs. If the network is known, it removes
// the nodes whose absence brings the others closest together (placement/spares.h); else the engine
// chooses. Blocks while reading the topology's sources; reports the removed nodes.
Result<scheduler::Allocation> needed_nodes(const Job& job);

}  // namespace toprun::plan
