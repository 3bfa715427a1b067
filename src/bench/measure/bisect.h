#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "bench/measure/join.h"
#include "bench/pairs/bisection.h"

namespace toprun::measure {

// One tested group of nodes, as rank 0 sees it.
struct Tried {
  std::vector<std::size_t> nodes;
  pairs::Outcome outcome = pairs::Outcome::passed;
  // The first line of the lowest rank that hung, or if none hung, failed; empty: none said
  // anything.
  std::string why;
};

// What every rank runs in each group that it belongs to: a process of its own, because a library
// that hangs cannot be stopped from within.
struct TrialCommand {
  std::vector<std::string> argv;
  Environment environment;                // of this rank in the whole job
  std::chrono::milliseconds hangs_after;  // a failure that takes this long counts as a hang
  std::chrono::milliseconds limit;        // after this time the process is killed
};

// Finds the nodes that make the command hang or fail, together with all other ranks. `tell` gets
// each group on rank 0 once it has been tried; the result elsewhere is empty. Ranks that do not
// answer make their groups hang. Error: rank 0 or the store is gone.
Result<pairs::Bisection::Found> bisect(Group& group, const TrialCommand& command,
                                       const std::function<void(const Tried&)>& tell);

// The environment of one rank of a group: its place among the ranks of these nodes, which are in
// the job's order. `trial` keeps one trial's keys in the store apart from another's.
Environment environment_of(const Group& group, const std::vector<std::size_t>& nodes,
                           const Environment& environment, std::size_t trial);

}  // namespace toprun::measure
