#pragma once

#include "launch/job.h"

namespace toprun::launch {

// The agent of this node, from joining to the end; the exit code of the whole run. `heartbeat_fd`
// is the keeper's; -1 without a keeper.
int run_agent(const Job& job, int heartbeat_fd);

}  // namespace toprun::launch
