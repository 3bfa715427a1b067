#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "launch/conductor.h"
#include "launch/job.h"
#include "view/report.h"

namespace toprun::launch {

// When the phases of an attempt were over; unset where one was not reached.
struct Phases {
  SteadyTime began{};
  std::optional<SteadyTime> joined, ordered, spawned, first_connect, last_connect;
};

// What the root knows of a run when it is over.
struct Course {
  WallTime started{};
  WallTime ended{};
  Phases phases;
  std::vector<view::NodeRecord> nodes;  // by group rank; empty if it never came to an order
  Verdict verdict;
};

// The run's last line, with its line end.
std::string summary(const Job& job, const Course& course);

// Prints what the user has to know at the end of a run: the failure's report if there is one and
// the run's last line; writes --report's file.
void tell_the_end(const Job& job, const Course& record);

}  // namespace toprun::launch
