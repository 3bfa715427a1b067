#pragma once

#include <string>
#include <vector>

#include "base/text/error.h"
#include "decide/topology/tree.h"
#include "node/plan/options.h"
#include "run/conductor/events.h"
#include "run/model/messages.h"

namespace toprun::plan {

// Orders the nodes according to the options and the evidence, and numbers the ranks in this order;
// pure. If srun or mpirun started the ranks, each member is a rank, and the members are grouped by
// node. `map` contains the members' nodes by name. `before` is the previous attempt's order of node
// names, empty in the first attempt.
Result<run::Arrangement> arrange(const std::vector<model::Join>& members, const Options& options,
                                 const topology::Map& map,
                                 const std::vector<std::string>& before = {});

}  // namespace toprun::plan
