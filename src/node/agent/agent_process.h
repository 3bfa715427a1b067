#pragma once

#include "node/plan/job.h"
#include "node/plan/orders.h"

namespace toprun::agent {

// Runs this node's agent from its join to the end; returns the exit code of the whole run.
// `heartbeat_fd` is the pipe to the keeper, or -1 without a keeper. If this node is unfit for the
// job, the agent only reports that to the other nodes.
int run_agent(const plan::Job& job, const plan::Orders& orders, int heartbeat_fd);

}  // namespace toprun::agent
