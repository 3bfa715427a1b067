#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/os/environment.h"
#include "base/os/fd.h"
#include "decide/hang/standing.h"
#include "decide/hang/stillness.h"
#include "decide/ras/status.h"
#include "decide/recorder/summary.h"
#include "machine/fabric/counters.h"
#include "node/agent/evidence/recorders.h"
#include "node/agent/progress.h"

namespace toprun::agent {

// Observes this node's ranks from outside, and queries NCCL and the flight recorders in the ranks.
// All functions except abort_with_traceback() may block, so call these functions on the pool.
class RankSight {
 public:
  virtual ~RankSight() = default;

  // Returns a function that takes one sample of each rank, as Progress::look() does. Call the
  // function repeatedly.
  using RankSamples = std::optional<std::vector<hang::RankSample>>;
  virtual std::function<RankSamples()> watch(std::vector<RunningRank> ranks) const;
  virtual std::vector<hang::Group> places_of(const std::vector<RunningRank>& ranks,
                                             const Environment& environment) const;
  // See node/agent/evidence/recorders.h and node/agent/evidence/nccl_ras.h.
  virtual std::vector<evidence::RecorderFiles> listening(
      const std::vector<evidence::RecorderFiles>& files) const;
  virtual recorder::Summary ask_recorders(const std::vector<evidence::RecorderFiles>& files,
                                          std::chrono::milliseconds limit) const;
  virtual std::shared_ptr<Fd> connect_to_nccl(const Environment& environment) const;
  virtual std::vector<ras::Finding> reported_by_nccl(const Fd& connection,
                                                     const std::vector<pid_t>& pids,
                                                     std::chrono::milliseconds limit) const;
  // Makes a rank print its stack, because the stack could not be read from outside. Does not block.
  virtual void abort_with_traceback(pid_t pid) const;
};

}  // namespace toprun::agent
