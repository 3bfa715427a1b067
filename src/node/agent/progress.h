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
  // Entries of the rank's environment that distinguish its process from others with the same id.
  // These entries are set for a rank in a container, which may have its own PID namespace. Empty:
  // `pid` is an id on the host.
  std::vector<std::string> marks = {};
  // The value of CUDA_VISIBLE_DEVICES or its equivalent.
  std::optional<std::string> visible_gpus = {};
};

// Takes samples of this node's ranks, from which hang::Stillness judges whether the ranks make
// progress. look() reads a few files in /proc for each rank and may block, so call it on the pool.
class Progress {
 public:
  explicit Progress(std::vector<RunningRank> ranks);
  // Takes one sample of each rank. nullopt if the previous call has not returned, because the
  // kernel does not answer.
  std::optional<std::vector<hang::RankSample>> look();

 private:
  struct Watched {
    RunningRank rank;
    std::optional<stacks::Reader> reader;
    std::optional<stacks::Usage> last;
    // The process's pulse at the time of the sample `seen`. A stacks::Pulse changes whenever the
    // process runs.
    std::optional<stacks::Pulse> pulse;
    hang::RankSample seen;
    // Whether its main thread, when last seen to run Python, came through many lines. True until
    // then, because a loop must not be claimed on a CPU that the thread hardly gets.
    bool works = true;
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

// Returns the id of the rank's process on this host; 0 if unknown. May block: call it on the pool.
pid_t process_of(const RunningRank& rank);

// Reads the ranks' stacks and returns where the ranks are in their code. Ranks with the same stack
// and state form one group. Looks for py-spy in the PATH of `environment`.
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
  // Sends SIGABRT to a rank whose stack could not be read from outside. Python's faulthandler then
  // prints the rank's Python stack before the rank is killed. The process writes a core file only
  // if its limit for core files allows it. If RLIMIT_CORE is 0, sets it to 1, so that the kernel
  // does not pipe a core dump to a crash reporter (core(5)). Does not block.
  virtual void abort_with_traceback(pid_t pid) const;
};

}  // namespace toprun::agent
