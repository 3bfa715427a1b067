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
// the nodes without which the other nodes are closest together (decide/placement/spares.h).
// Otherwise the engine chooses. Blocks while reading the topology's sources, and reports the
// removed nodes. A job that can continue without a lost node keeps all nodes: the nodes beyond its
// number are its spares.
Result<engines::Allocation> needed_nodes(const Job& job);

// Which of the request's members wait as spares, as ascending indexes: all members except `seats`
// of them. Only members that need not stay can become spares. If the order is by the network, these
// are the members without which the others are closest together. Otherwise they are members that an
// order file does not name, and then the last members in the engine's order. Pure, except that it
// reads the order file.
Result<std::vector<std::size_t>> spare_members(const run::Arrange& request, const Options& options,
                                               const topology::Map& map);

}  // namespace toprun::plan
