#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "run/model/phases.h"

namespace toprun::model {

// How far a launch has come, for the one line that a terminal shows meanwhile.
struct Launch {
  enum class Step {
    join,     // the members join
    order,    // … get their places
    prepare,  // … copy the environment, start containers and warm parents
    start,    // … start their ranks
    meet,     // the ranks come to the store and to their first collective
  };
  Step step = Step::join;
  int attempt = 0;
  std::chrono::milliseconds elapsed{0};   // since the attempt began
  std::size_t there = 0;                  // members that are through with the step
  std::size_t of = 0;                     // all members
  std::vector<std::string> missing = {};  // those that are not; empty: unknown
  bool of_ranks = false;                  // each member is a rank
  // From here on of ranks.
  std::size_t ranks = 0;
  std::size_t joined = 0;               // came to the store, where that is in this process
  std::size_t met = 0;                  // … to their first collective
  std::optional<Awaited> awaited = {};  // as the store's node told last
};

}  // namespace toprun::model
