#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <vector>

#include "base/os/environment.h"
#include "base/os/fd.h"
#include "decide/ras/status.h"

namespace toprun::evidence {

// A connection to NCCL's RAS thread, where one listens: at NCCL_RAS_ADDR of the rank's own
// environment, if that is an address, else at localhost:28028. Null: none does. Blocks for a
// fraction of a second.
std::shared_ptr<Fd> connect_to_nccl(const Environment& environment);

// What it tells of the job. `pids`: of this node's ranks; NCCL of other jobs, which use the same
// port, tells nothing of ours. Empty also if it does not answer within the limit, or has no JSON
// (before 2.28.7).
std::vector<ras::Finding> told_by_nccl(const Fd& connection, const std::vector<pid_t>& pids,
                                       std::chrono::milliseconds limit);

}  // namespace toprun::evidence
