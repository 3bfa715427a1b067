#pragma once

#include "base/text/error.h"
#include "node/plan/job.h"
#include "node/plan/login_orders.h"

namespace toprun::agent {

// Runs this node's agent until the run's end, and returns the exit code of the whole run.
// `heartbeat_fd`: the pipe to the keeper, the agent's supervising process, or -1. If this node is
// unfit for the job (Job::unfit), the agent only reports this to the root.
int run_agent(const plan::Job& job, const plan::Orders& orders, int heartbeat_fd);

// Creates a private folder for the ranks' output if --redirects is given without --log-dir, because
// redirected output is not shown on the terminal. Adds a note with the folder's name to the job.
// Does nothing in a launcher, which only starts agents.
Result<void> keep_redirected(plan::Job& job);

}  // namespace toprun::agent
