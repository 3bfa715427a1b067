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
#include "machine/stacks/look.h"
#include "machine/stacks/usage.h"

namespace toprun::agent {

// A rank that runs on this node.
struct RunningRank {
  int rank = 0;
  pid_t pid = 0;
  // In a container, which may have a PID namespace of its own: what tells this rank's process from
  // others with the same id. Empty: the id is the host's.
  std::vector<std::string> marks = {};
  std::optional<std::string> visible_gpus = {};  // as CUDA_VISIBLE_DEVICES or the like lists them
};

// Looks at this node's ranks again and again, for the judgement whether they make progress
// (hang::Stillness). Every look reads a few files of /proc for each rank and may block: use it on
// the pool.
class Progress {
 public:
  explicit Progress(std::vector<RunningRank> ranks);
  // Nothing while the look before has not ended: the kernel does not answer.
  std::optional<std::vector<hang::Glance>> look();

 private:
  struct Watched {
    RunningRank rank;
    std::optional<stacks::Reader> reader;
    std::optional<stacks::Usage> last;
    // When `seen` was read.
    std::optional<stacks::Pulse> pulse;
    hang::Glance seen;
  };
  hang::Glance glance_at(Watched& watched, std::chrono::nanoseconds passed);
  static bool has_not_run(Watched& watched);
  static void add_stack(Watched& watched, hang::Glance& glance);
  static bool main_computes(Watched& watched, const stacks::Usage& before, const stacks::Usage& now,
                            std::chrono::nanoseconds passed);
  static bool helpers_compute(const Watched& watched, const hang::Glance& glance,
                              const stacks::Usage& before, const stacks::Usage& now,
                              std::chrono::nanoseconds passed);

  std::mutex looking_;
  std::vector<Watched> ranks_;
  std::chrono::steady_clock::time_point last_{};
};

// Its process on this host, on the pool; 0: unknown.
pid_t process_of(const RunningRank& rank);

// Where the ranks stand, those in the same place together.
// `environment` finds py-spy.
std::vector<hang::Group> places_of(const std::vector<RunningRank>& ranks,
                                   const Environment& environment);

}  // namespace toprun::agent
