#pragma once

#include "cli/options/call.h"

namespace toprun::cli {

// `toprun topo show …`: the domains of the network that hold the job's nodes, as an indented tree
// or, with --json, as one object (stdout); unknown facts go to stderr.
Result<int> run_topo_show(const options::Call& call);

}  // namespace toprun::cli
