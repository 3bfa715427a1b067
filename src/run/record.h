#pragma once

#include <optional>
#include <vector>

#include "base/clock.h"
#include "run/verdict.h"
#include "view/report.h"

namespace toprun::run {

// The end times of an attempt's phases; unset for phases that were not reached.
struct Phases {
  SteadyTime began{};
  std::optional<SteadyTime> joined, ordered, staged, spawned, imported, first_connect, last_connect,
      met;
};

// The root's data on an attempt, complete when it is over.
struct AttemptCourse {
  int number = 0;
  WallTime started{};
  std::optional<WallTime> ended;
  Phases phases;
  view::Spreads spreads;
  std::optional<view::Awaited> awaited;
  std::optional<view::Hang> hang;       // the latest
  std::vector<view::NodeRecord> nodes;  // by group rank; empty if no order was computed
  std::optional<view::OrderRecord> order;
  std::vector<fabric::NetworkByHost> networks;  // of the nodes whose workers' NCCL was observed
  Verdict verdict;
};

// … and on the whole run. Its verdict is the last attempt's, without the exits.
struct Course {
  WallTime started{};
  WallTime ended{};
  std::vector<AttemptCourse> attempts;
  int restarts = 0;  // attempts that followed a failure
  Verdict verdict;
};

}  // namespace toprun::run
