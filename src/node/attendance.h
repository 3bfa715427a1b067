#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "scheduler/engine.h"

namespace toprun::node {

inline constexpr std::chrono::seconds first_presence_look{2};  // from when somebody is waited for
inline constexpr std::chrono::seconds between_presence_looks{2};
// A node that never had a process of the run may still be about to begin.
inline constexpr std::chrono::seconds slowest_begin{8};
inline constexpr std::chrono::milliseconds more_per_node{20};  // for both

// Whose agents have ended before they joined, by what the engine says of where processes of the run
// are; pure.
//
// A node had an agent and has ended once it had a process and has none in two looks in a row. If
// none starts late it has ended too if it never had one until `begun_by`.
class Attendance {
 public:
  explicit Attendance(SteadyTime begun_by) : begun_by_(begun_by) {}

  void look(const scheduler::Presence& presence, SteadyTime now);
  bool has_ended(const std::string& node) const;

 private:
  SteadyTime begun_by_;
  bool all_have_begun_ = false;
  std::set<std::string> seen_;
  std::set<std::string> now_;
  std::set<std::string> before_;  // in the look before
  int looks_ = 0;
};

}  // namespace toprun::node
