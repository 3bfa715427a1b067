#pragma once

#include <sys/types.h>

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "decide/hang/standing.h"
#include "decide/hang/stillness.h"
#include "machine/stacks/inspect.h"
#include "machine/stacks/usage.h"

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

}  // namespace toprun::agent
