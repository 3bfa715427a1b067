#pragma once

#include "plan/job.h"
#include "plan/orders.h"

namespace toprun::node {

// The agent of this node, from joining to the end; the exit code of the whole run. `heartbeat_fd`
// is the keeper's; -1 without a keeper. Of a job that this node is unfit for it tells only the
// others.
int run_agent(const plan::Job& job, const plan::Orders& orders, int heartbeat_fd);

}  // namespace toprun::node
