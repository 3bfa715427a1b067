#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/os/environment.h"
#include "base/text/clock.h"
#include "machine/meter/meter.h"
#include "node/agent/progress.h"
#include "node/worker/workers.h"

namespace toprun::agent {

// What a node reports about a rank's output to a client that watches the job.
struct Said {
  // Time since the rank's last output; unset: no output yet.
  std::optional<std::chrono::milliseconds> silence;
  std::string last_line;                     // same meaning as in meter::Rank
  std::vector<std::string> last_lines = {};  // same meaning as in meter::Rank

  bool operator==(const Said&) const = default;
};

// In a job with more ranks than this, a node reports only one line, the newest of all its ranks,
// because the lines of all ranks would be megabytes per second.
inline constexpr int most_ranks_with_lines = 4'096;
// In a job with at most this number of ranks, a node reports several lines for each rank.
inline constexpr int most_ranks_with_several_lines = 256;

// Returns what to show of each rank's output, indexed by local rank. `world_size`: the number of
// ranks in the job.
std::vector<Said> said_by(const std::vector<worker::Workers::LastOutput>& outputs, int world_size,
                          SteadyTime now);

// Measures the resource usage of this node's ranks while a client watches the job. May block: use a
// RanksMeter on the pool.
class RanksMeter {
 public:
  explicit RanksMeter(Environment environment) : environment_(std::move(environment)) {}

  // Whether look_at_gpus() is due. If the result is true, call look_at_gpus() next, which blocks
  // until the GPU driver answers.
  bool begin_gpus() { return gpus_.begin(std::chrono::steady_clock::now()); }
  void look_at_gpus();

  // Measures the ranks' resource usage. `said` is indexed by local rank. nullopt if the previous
  // call has not returned.
  std::optional<meter::Node> look(const std::vector<RunningRank>& ranks,
                                  const std::vector<Said>& said);

 private:
  pid_t found(const RunningRank& rank);

  const Environment environment_;
  std::mutex looking_;
  meter::LastGpus gpus_;
  meter::Meter meter_;
  // The ranks' process ids on this host, by local rank and by process id in the container.
  std::map<std::pair<int, pid_t>, pid_t> outside_;
};

}  // namespace toprun::agent
