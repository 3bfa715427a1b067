#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "bench/measure/join.h"
#include "bench/pairs/bisection.h"

namespace toprun::measure {

// The result of testing one group of nodes, on rank 0.
struct Tried {
  std::vector<std::size_t> nodes;
  pairs::Outcome outcome = pairs::Outcome::passed;
  // The first line of output from the lowest rank that hung, or if none hung, from the lowest rank
  // that failed. Empty if this rank has printed nothing.
  std::string why;
};

// The command that a rank runs whenever a group with its node is tested. The command is a separate
// process, because a library that hangs cannot be stopped from within.
struct TrialCommand {
  std::vector<std::string> argv;
  Environment environment;                // this rank's environment in the whole job
  std::chrono::milliseconds hangs_after;  // a command that fails after this time counts as hung
  std::chrono::milliseconds limit;        // after this time the process is killed
};

// Finds the nodes that make the command hang or fail, by tests of groups (pairs/bisection.h). All
// ranks call bisect() together. On rank 0, bisect() calls `tell` after each test and returns the
// bad nodes; on other ranks, it returns an empty result. If a rank does not report its results,
// each group that contains this rank counts as hung. Error: rank 0 or the store is gone.
Result<pairs::Bisection::Found> bisect(Group& group, const TrialCommand& command,
                                       const std::function<void(const Tried&)>& tell);

// Returns the environment for this rank's command in the test of a group. In this environment, RANK
// and WORLD_SIZE count only the ranks of `nodes`, in the job's order. `trial`, the number of the
// test, is part of the keys in the store, so that two tests use different keys.
Environment environment_of(const Group& group, const std::vector<std::size_t>& nodes,
                           const Environment& environment, std::size_t trial);

}  // namespace toprun::measure
