#pragma once

#include <string>
#include <vector>

#include "base/environment.h"

namespace toprun::cli {

// `toprun topo score …`: how many neighbours in the ring of the job's nodes are in another domain,
// per level, and what collectives cost, in each of the orders that the job could have (stdout);
// what is not known (stderr).
// Returns the exit code.
int run_topo_score(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace toprun::cli
