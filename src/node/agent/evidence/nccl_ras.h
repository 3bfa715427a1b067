#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <vector>

#include "base/os/environment.h"
#include "base/os/fd.h"
#include "decide/ras/status.h"

namespace toprun::evidence {

// Connects to NCCL's RAS thread; returns null if no such thread listens. The address is the value
// of NCCL_RAS_ADDR in the rank's own environment, or localhost:28028 if this value is not a valid
// address. Blocks for a fraction of a second.
std::shared_ptr<Fd> connect_to_nccl(const Environment& environment);

// Asks NCCL's RAS thread and returns what it reports about this job. `pids`: the processes of this
// node's ranks. Ignores reports about other jobs, whose NCCL may listen on the same port. The
// result is also empty if NCCL does not answer within the limit, or if it is older than 2.28.7,
// which cannot answer in JSON.
std::vector<ras::Finding> reported_by_nccl(const Fd& connection, const std::vector<pid_t>& pids,
                                           std::chrono::milliseconds limit);

}  // namespace toprun::evidence
