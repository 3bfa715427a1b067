#pragma once

#include <cstddef>
#include <vector>

#include "base/text/error.h"
#include "decide/topology/tree.h"
#include "engines/allocation.h"
#include "node/plan/job.h"
#include "run/conductor/events.h"

namespace toprun::plan {

// Reduces the allocation to the nodes that the launch needs. If the network is known, it removes
// the nodes whose absence brings the others closest together (decide/placement/spares.h); else the
// engine chooses. Blocks while reading the topology's sources; reports the removed nodes. A job
// that can go on without a lost node keeps all: those above its number are its spares.
Result<engines::Allocation> needed_nodes(const Job& job);

// Which of the request's members wait as spares, by their indexes, ascending: all but `seats`. Of
// those that need not stay, the ones whose absence brings the others closest together, where the
// order is by the network; else those that an order file does not name, and then the last in the
// engine's order. Pure but for the order file.
Result<std::vector<std::size_t>> spare_members(const run::Arrange& request, const Options& options,
                                               const topology::Map& map);

}  // namespace toprun::plan
