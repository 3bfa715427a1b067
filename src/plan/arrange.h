#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "model/messages.h"
#include "plan/options.h"
#include "run/arrangement.h"
#include "topology/tree.h"

namespace toprun::plan {

// Orders the nodes by the options and the evidence, and the ranks along that order; pure. Members
// that become ranks in place are grouped by node. `map` has the members' nodes by name; `before` is
// the previous attempt's order of node names, empty in the first attempt.
Result<run::Arrangement> arrange(const std::vector<model::Join>& members, const Options& options,
                                 const topology::Map& map,
                                 const std::vector<std::string>& before = {});

}  // namespace toprun::plan
