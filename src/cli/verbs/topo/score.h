#pragma once

#include "cli/options/call.h"

namespace toprun::cli {

// `toprun topo score …`: how many neighbours in the ring of the job's nodes are in another domain,
// per level, and what collectives cost, in each of the orders that the job could have (stdout);
// unknown facts go to stderr.
//
Result<int> run_topo_score(const options::Call& call);

}  // namespace toprun::cli
