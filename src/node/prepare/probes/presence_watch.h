#pragma once

#include <memory>
#include <string>

#include "base/os/pool.h"
#include "node/plan/job.h"
#include "node/prepare/probes/attendance.h"

namespace toprun::probes {

// Periodically asks the engine which nodes have processes of the run, while this agent waits for
// other agents. A thread of the pool waits for the answer.
//
//   resting --look_if_due()--> asking --answer--> resting; --the engine does not tell--> over
class PresenceWatch {
 public:
  PresenceWatch(Pool& pool, const plan::Job& job);

  void look_if_due();
  bool has_ended(const std::string& node) const;

 private:
  struct Looking;
  Pool& pool_;
  const plan::Job& job_;
  std::shared_ptr<Looking> looking_;
  SteadyTime next_look_;
};

}  // namespace toprun::probes
