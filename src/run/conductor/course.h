#pragma once

#include <optional>
#include <vector>

#include "base/text/clock.h"
#include "run/conductor/verdict.h"
#include "run/model/record.h"

namespace toprun::run {

// The end times of an attempt's phases; unset for phases that were not reached.
struct Phases {
  SteadyTime began{};
  std::optional<SteadyTime> joined, ordered, staged, spawned, imported, first_connect, last_connect,
      met;
};

// The root's data about an attempt, complete when the attempt is over.
struct AttemptCourse {
  int number = 0;
  WallTime started{};
  std::optional<WallTime> ended;
  Phases phases;
  model::Spreads spreads;
  std::optional<model::Awaited> awaited;
  std::optional<model::Hang> hang;       // the latest
  std::vector<model::NodeRecord> nodes;  // by group rank; empty if no order was computed
  std::optional<model::OrderRecord> order;
  std::vector<fabric::NetworkByHost> networks;  // of the nodes whose workers' use of NCCL was
                                                // observed
  std::optional<model::Interruption> interrupted;
  Verdict verdict;
};

// … and about the whole run. The verdict is that of the last attempt, without the exits.
struct Course {
  WallTime started{};
  WallTime ended{};
  std::vector<AttemptCourse> attempts;  // the latest attempts, without gaps (at most most_recorded)
  int restarts = 0;                     // attempts that followed a failure
  std::vector<model::LostSpare> lost_spares;
  Verdict verdict;

  // One of these attempts.
  const AttemptCourse& attempt(int number) const {
    return attempts[static_cast<std::size_t>(number - attempts.front().number)];
  }
};

// Losses and growth have no other limit in a job that runs for weeks. Therefore records exist for
// only this many attempts, …
inline constexpr std::size_t most_recorded = 1'000;
// … and each rank's node for only the latest ones, because it takes half a kilobyte per node.
inline constexpr std::size_t most_recorded_with_nodes = 8;

}  // namespace toprun::run
