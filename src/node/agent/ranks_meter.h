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

// Measures the resource usage of this node's ranks while a client watches the job. May block: use a
// RanksMeter on the pool.
class RanksMeter {
 public:
  explicit RanksMeter(Environment environment) : environment_(std::move(environment)) {}

  // Whether look_at_gpus() is due. If so, call look_at_gpus() next; this function blocks until the
  // GPU driver answers.
  bool begin_gpus() { return gpus_.begin(std::chrono::steady_clock::now()); }
  void look_at_gpus();

  // `said` is indexed by local rank. The result is nullopt while the previous look has not
  // returned.
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
