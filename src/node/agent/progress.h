#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/os/fd.h"
#include "decide/hang/standing.h"
#include "decide/hang/stillness.h"
#include "decide/ras/status.h"
#include "decide/recorder/summary.h"
#include "machine/stacks/inspect.h"
#include "machine/stacks/proc.h"
#include "node/agent/evidence/recorders.h"

namespace toprun::agent {

// A rank that runs on this node.
struct RunningRank {
  int rank = 0;
  pid_t pid = 0;
  // For a rank in a container, which may have its own PID namespace: environment entries that
  // distinguish the rank's process from other processes with the same id. Empty: `pid` is an id on
  // the host.
  std::vector<std::string> marks = {};
  // The value of CUDA_VISIBLE_DEVICES or its equivalent.
  std::optional<std::string> visible_gpus = {};
};

// Looks at this node's ranks repeatedly, so that hang::Stillness can judge whether they make
// progress. look() reads a few files in /proc for each rank and may block, so call it on the pool.
class Progress {
 public:
  explicit Progress(std::vector<RunningRank> ranks);
  // nullopt while the previous look has not returned because the kernel does not answer.
  std::optional<std::vector<hang::RankSample>> look();

 private:
  struct Watched {
    RunningRank rank;
    std::optional<stacks::Reader> reader;
    std::optional<stacks::Usage> last;
    // The pulse at the time when `seen` was read.
    std::optional<stacks::Pulse> pulse;
    hang::RankSample seen;
  };
  hang::RankSample sample_of(Watched& watched, std::chrono::nanoseconds passed);
  static bool has_not_run(Watched& watched);
  static void add_stack(Watched& watched, hang::RankSample& sample);
  static bool main_computes(Watched& watched, const stacks::Usage& before, const stacks::Usage& now,
                            std::chrono::nanoseconds passed);
  static bool helpers_compute(const Watched& watched, const hang::RankSample& sample,
                              const stacks::Usage& before, const stacks::Usage& now,
                              std::chrono::nanoseconds passed);

  std::mutex looking_;
  std::vector<Watched> ranks_;
  std::chrono::steady_clock::time_point last_{};
};

// The id of the rank's process on this host; 0: unknown. May block: call process_of() on the pool.
pid_t process_of(const RunningRank& rank);

// Where the ranks are in their code. Ranks with the same stack and state form one group. py-spy is
// searched in the PATH of `environment`.
std::vector<hang::Group> places_of(const std::vector<RunningRank>& ranks,
                                   const Environment& environment);

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
  // Makes a rank print its Python stack before it is killed, because the stack could not be read
  // from outside. The function sends SIGABRT, which Python's faulthandler handles. The process
  // writes no core file, unless its limit for core files allows it. If RLIMIT_CORE is 0, the
  // function sets RLIMIT_CORE to 1, so that the kernel also pipes no core dump to a crash reporter
  // (core(5)). Does not block.
  virtual void abort_with_traceback(pid_t pid) const;
};

}  // namespace toprun::agent
