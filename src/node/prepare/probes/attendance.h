#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/text/clock.h"
#include "engines/engine.h"

namespace toprun::probes {

inline constexpr std::chrono::seconds first_presence_look{2};  // after the wait begins
inline constexpr std::chrono::seconds between_presence_looks{2};
// How late a node's first process of the run may start.
inline constexpr std::chrono::seconds slowest_begin{8};
inline constexpr std::chrono::milliseconds more_per_node{20};  // for both

// Finds the nodes whose agents ended before they joined, from the engine's list of nodes with
// processes of the run. Pure.
//
// A node has ended if it had a process and has none in two consecutive looks; and, if no agent
// starts late, if it had none until `begun_by`.
class Attendance {
 public:
  explicit Attendance(SteadyTime begun_by) : begun_by_(begun_by) {}

  void look(const engines::Presence& presence, SteadyTime now);
  bool has_ended(const std::string& node) const;

 private:
  SteadyTime begun_by_;
  bool all_have_begun_ = false;
  std::set<std::string> seen_;
  std::set<std::string> now_;
  std::set<std::string> before_;  // in the previous look
  int looks_ = 0;
};

}  // namespace toprun::probes
