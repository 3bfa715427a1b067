#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/os/environment.h"
#include "machine/meter/gpus.h"
#include "machine/meter/meter.h"
#include "node/agent/progress.h"
#include "node/agent/said.h"

namespace toprun::agent {

// Looks at what this node's ranks use while a reader looks at the job. May block: use it on the
// pool.
class RanksMeter {
 public:
  explicit RanksMeter(Environment environment) : environment_(std::move(environment)) {}

  // Whether it is time for look_at_gpus(), which has to follow. It takes as long as their driver
  // does.
  bool begin_gpus() { return gpus_.begin(std::chrono::steady_clock::now()); }
  void look_at_gpus();

  // `said`: by local rank. Nothing while the look before has not ended.
  std::optional<meter::Node> look(const std::vector<RunningRank>& ranks,
                                  const std::vector<Said>& said);

 private:
  pid_t found(const RunningRank& rank);

  const Environment environment_;
  std::mutex looking_;
  meter::LastGpus gpus_;
  meter::Meter meter_;
  // By rank and its process's id in its container: the id here.
  std::map<std::pair<int, pid_t>, pid_t> outside_;
};

}  // namespace toprun::agent
