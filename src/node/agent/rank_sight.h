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

// What can be seen of this node's ranks from outside, and asked of what runs in them. Whatever is
// called here blocks: use it on the pool.
class RankSight {
 public:
  virtual ~RankSight() = default;

  // A look at whether these ranks make progress, to be called again and again (Progress::look).
  using Glances = std::optional<std::vector<hang::Glance>>;
  virtual std::function<Glances()> watch(std::vector<RunningRank> ranks) const;
  virtual std::vector<hang::Group> places_of(const std::vector<RunningRank>& ranks,
                                             const Environment& environment) const;
  // See node/agent/evidence/recorders.h and node/agent/evidence/nccl_ras.h.
  virtual std::vector<evidence::RecorderFiles> listening(
      const std::vector<evidence::RecorderFiles>& files) const;
  virtual recorder::Summary ask_recorders(const std::vector<evidence::RecorderFiles>& files,
                                          std::chrono::milliseconds limit) const;
  virtual std::shared_ptr<Fd> connect_to_nccl(const Environment& environment) const;
  virtual std::vector<ras::Finding> told_by_nccl(const Fd& connection,
                                                 const std::vector<pid_t>& pids,
                                                 std::chrono::milliseconds limit) const;
  // Has a rank that could not be read print where it stands. Does not block.
  virtual void make_tell(pid_t pid) const;
};

}  // namespace toprun::agent
