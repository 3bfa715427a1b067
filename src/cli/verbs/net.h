#pragma once

#include "cli/options/call.h"

namespace toprun::cli {

// `toprun net show …`: the node's RDMA ports and interfaces, which a job uses, and why not the
// others, as tables or one object (stdout).
Result<int> run_net_show(const options::Call& call);

// `toprun net env …`: the variables that a job of several nodes gets here, and why, as a table, one
// object or lines for a shell (stdout); what the user's own contradict (stderr).
Result<int> run_net_env(const options::Call& call);

}  // namespace toprun::cli
