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

// Returns the job's allocation, reduced to the number of nodes that the launch needs. If the order
// follows the network, keeps the nodes that are closest together (decide/placement/spares.h), and
// prints which nodes it removes; otherwise the engine chooses. If the job may replace a lost node
// by another, removes no node, because the nodes that are not needed at first are the spares.
// Blocks while it reads the network's topology, for example from Slurm or a cloud's service.
Result<engines::Allocation> needed_nodes(const Job& job);

// Returns the ascending indexes of the members that wait as spares: all members in the request
// except the `request.seats` members that take part. The first `request.staying` members always
// take part. If the order follows the network, the members that take part are those that are
// closest together. Otherwise the spares are first the members that an order file does not name,
// then the last members in the engine's order. Pure, except that it reads the order file.
Result<std::vector<std::size_t>> spare_members(const run::Arrange& request, const Options& options,
                                               const topology::Map& map);

// Orders the nodes, and numbers the ranks in this order; pure. The order depends on the options and
// on the facts that the members sent. If srun or mpirun started the ranks, each member is a rank,
// and the members are grouped by node. `map` is the map of the network, with the members' nodes by
// name. `before` is the previous attempt's order of node names, empty in the first attempt.
// `are_listed`: the order of the nodes comes from a list of hosts that the user gave, and not from
// a scheduler.
Result<run::Arrangement> arrange(const std::vector<model::Join>& members, const Options& options,
                                 const topology::Map& map,
                                 const std::vector<std::string>& before = {},
                                 bool are_listed = false);

}  // namespace toprun::plan
