#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "bench/measure/join.h"
#include "bench/pairs/bisection.h"

namespace toprun::measure {

// A group of nodes that was tested, as rank 0 sees it.
struct Tried {
  std::vector<std::size_t> nodes;
  pairs::Outcome outcome = pairs::Outcome::passed;
  // The first line of output from the lowest rank that hung. If no rank hung, the line is from the
  // lowest rank that failed. Empty: this rank has printed nothing.
  std::string why;
};

// The command that a rank runs for each group to which it belongs. The command is a separate
// process, because a library that hangs cannot be stopped from within.
struct TrialCommand {
  std::vector<std::string> argv;
  Environment environment;                // this rank's environment in the whole job
  std::chrono::milliseconds hangs_after;  // a command that fails after this time counts as hung
  std::chrono::milliseconds limit;        // after this time the process is killed
};

// Finds the nodes that make the command hang or fail. All ranks call bisect() together. On rank 0,
// `tell` gets each group after its test. On other ranks the result is empty. If a rank does not
// answer, each group that contains the rank counts as hung. Error: rank 0 or the store is gone.
Result<pairs::Bisection::Found> bisect(Group& group, const TrialCommand& command,
                                       const std::function<void(const Tried&)>& tell);

// The environment of one rank of a group. The environment numbers the ranks of these nodes, in the
// job's order. `trial` is part of the keys in the store, so that two trials use different keys.
Environment environment_of(const Group& group, const std::vector<std::size_t>& nodes,
                           const Environment& environment, std::size_t trial);

}  // namespace toprun::measure
