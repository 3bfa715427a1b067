#pragma once

#include <optional>
#include <vector>

#include "base/clock.h"
#include "run/verdict.h"
#include "view/report.h"

namespace toprun::run {

// When the phases of an attempt were over; unset where one was not reached.
struct Phases {
  SteadyTime began{};
  std::optional<SteadyTime> joined, ordered, spawned, first_connect, last_connect;
};

// What the root knows of an attempt, all of it when it is over.
struct AttemptCourse {
  int number = 0;
  WallTime started{};
  std::optional<WallTime> ended;
  Phases phases;
  std::vector<view::NodeRecord> nodes;  // by group rank; empty if it never came to an order
  std::optional<view::OrderRecord> order;
  Verdict verdict;
};

// … and of the whole run, whose verdict is the last attempt's, but for the exits.
struct Course {
  WallTime started{};
  WallTime ended{};
  std::vector<AttemptCourse> attempts;
  int restarts = 0;  // attempts that followed a failure
  Verdict verdict;
};

}  // namespace toprun::run
