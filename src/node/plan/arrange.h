#pragma once

#include <string>
#include <vector>

#include "base/text/error.h"
#include "decide/topology/tree.h"
#include "node/plan/options.h"
#include "run/conductor/events.h"
#include "run/model/messages.h"

namespace toprun::plan {

// Orders the nodes according to the options and the evidence, and the ranks along that order; pure.
// Members that become ranks that the engine started (in-place ranks) are grouped by node. `map`
// contains the members' nodes by name. `before` is the previous attempt's order of node names,
// empty in the first attempt.
Result<run::Arrangement> arrange(const std::vector<model::Join>& members, const Options& options,
                                 const topology::Map& map,
                                 const std::vector<std::string>& before = {});

}  // namespace toprun::plan
