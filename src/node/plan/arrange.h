#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/text/error.h"
#include "decide/topology/tree.h"
#include "engines/allocation.h"
#include "node/plan/job.h"
#include "node/plan/options.h"
#include "run/conductor/events.h"
#include "run/model/messages.h"

namespace toprun::plan {

// Reduces the allocation to the nodes that the launch needs. If the network is known, the nodes
// that remain are those that are closest together (decide/placement/spares.h). Otherwise the engine
// chooses. Blocks while needed_nodes() reads the topology's sources. Reports the removed nodes. If
// a job can continue without a lost node, no node is removed: the nodes that the job does not need
// are its spares.
Result<engines::Allocation> needed_nodes(const Job& job);

// The ascending indexes of the members that wait as spares: all members in the request, except
// `seats` of them. Members that have to stay cannot become spares. If the order follows the
// network, the other members are those that are closest together. Otherwise the spares are members
// that an order file does not name, and then the last members in the engine's order. Pure, except
// that spare_members() reads the order file.
Result<std::vector<std::size_t>> spare_members(const run::Arrange& request, const Options& options,
                                               const topology::Map& map);

// Orders the nodes according to the options and the evidence, and numbers the ranks in this order;
// pure. If srun or mpirun started the ranks, each member is a rank, and the members are grouped by
// node. `map` contains the members' nodes by name. `before` is the previous attempt's order of node
// names, empty in the first attempt.
Result<run::Arrangement> arrange(const std::vector<model::Join>& members, const Options& options,
                                 const topology::Map& map,
                                 const std::vector<std::string>& before = {});

}  // namespace toprun::plan
