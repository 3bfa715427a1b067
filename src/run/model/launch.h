#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "run/model/phases.h"

namespace toprun::model {

// The progress of a launch, for the one status line on a terminal.
struct Launch {
  enum class Step {
    join,     // the members join
    order,    // the members get their node ranks
    prepare,  // the members copy the environment, start containers and warm parents
    start,    // the members start their ranks
    meet,     // the ranks connect to the store and enter their first collective
  };
  Step step = Step::join;
  int attempt = 0;
  std::chrono::milliseconds elapsed{0};   // time since the attempt began
  std::size_t ready = 0;                  // members that have finished the step
  std::size_t total = 0;                  // all members
  std::vector<std::string> missing = {};  // members that have not finished the step; empty: unknown
  bool counts_ranks = false;              // each member is a rank
  // The remaining fields count ranks.
  std::size_t ranks = 0;
  std::size_t joined = 0;               // ranks that have connected to the store, if the store is
                                        // in this process
  std::size_t met = 0;                  // ranks that have entered their first collective
  std::optional<Awaited> awaited = {};  // the latest report from the store's node
};

}  // namespace toprun::model
