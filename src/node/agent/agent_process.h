#pragma once

#include "base/text/error.h"
#include "node/plan/job.h"
#include "node/plan/login_orders.h"

namespace toprun::agent {

// Runs this node's agent from its join to the end, and returns the exit code of the whole run.
// `heartbeat_fd` is the pipe to the keeper, or -1 without a keeper. If this node is unfit for the
// job, the agent only reports this fact to the root.
int run_agent(const plan::Job& job, const plan::Orders& orders, int heartbeat_fd);

// Redirected output is not shown, so it must be in a file. Without --log-dir, this function creates
// a private folder for the output and adds a note with the folder's name to the job. In a process
// that only starts agents, this function does nothing.
Result<void> keep_redirected(plan::Job& job);

}  // namespace toprun::agent
