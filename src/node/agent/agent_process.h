#pragma once

#include "base/text/error.h"
#include "node/plan/job.h"
#include "node/plan/orders.h"

namespace toprun::agent {

// Runs this node's agent from its join to the end; returns the exit code of the whole run.
// `heartbeat_fd` is the pipe to the keeper, or -1 without a keeper. If this node is unfit for the
// job, the agent only reports that to the other nodes.
int run_agent(const plan::Job& job, const plan::Orders& orders, int heartbeat_fd);

// Output that is redirected and not shown must be kept. Without --log-dir this creates a private
// folder for the output and adds a note to the job that names the folder. Does nothing in a process
// that only starts agents.
Result<void> keep_redirected(plan::Job& job);

}  // namespace toprun::agent
