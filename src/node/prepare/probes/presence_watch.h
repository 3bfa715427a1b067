#pragma once

#include <memory>
#include <set>
#include <string>

#include "base/os/pool.h"
#include "base/text/clock.h"
#include "engines/engine.h"
#include "node/plan/job.h"

namespace toprun::probes {

inline constexpr std::chrono::seconds first_presence_look{2};  // when to query the engine first,
                                                               // after the wait has begun
inline constexpr std::chrono::seconds between_presence_looks{2};
// A node's first process of the run may start this long after the wait began.
inline constexpr std::chrono::seconds slowest_begin{8};
// For each node of the job, between_presence_looks and slowest_begin grow by this time.
inline constexpr std::chrono::milliseconds more_per_node{20};

// Finds the nodes whose agents ended before they joined. The engine (such as Slurm) is asked
// repeatedly, and each answer lists the nodes that have processes of the run. Pure.
//
// A node's agent counts as ended if an answer showed a process on the node, and two later answers
// in a row show none. If the engine says that no process will start late, an agent whose node has
// no process until `begun_by` also counts as ended.
class Attendance {
 public:
  explicit Attendance(SteadyTime begun_by) : begun_by_(begun_by) {}

  // Adds the engine's next answer.
  void look(const engines::Presence& presence, SteadyTime now);
  bool has_ended(const std::string& node) const;

 private:
  SteadyTime begun_by_;
  bool all_have_begun_ = false;
  std::set<std::string> seen_;
  std::set<std::string> now_;
  std::set<std::string> before_;  // the nodes in the previous answer
  int looks_ = 0;
};

// Periodically asks the engine (such as Slurm) which nodes have processes of the run. Does so while
// this agent waits for other agents. A thread of the pool waits for the answer.
//
//   resting --look_if_due()--> asking --answer--> resting; --the engine cannot answer--> over
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
