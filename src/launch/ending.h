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

// … and of the whole run, whose verdict is the last attempt's.
struct Course {
  WallTime started{};
  WallTime ended{};
  std::vector<AttemptCourse> attempts;
  int restarts = 0;  // attempts that followed a failure
  Verdict verdict;
};

// Prints the report of a failed attempt.
void tell_the_failure(const Job& job, const AttemptCourse& attempt);

// Writes --report's file, if it was asked for, while the run goes on: the last attempt may not have
// ended.
void keep_the_report(const Job& job, const Course& course);

// The run's last line, with its line end.
std::string summary(const Job& job, const Course& course);

// Prints what the user has to know at the end of a run: the last attempt's failure if there is one
// and the run's last line; writes --report's file.
void tell_the_end(const Job& job, const Course& course);

}  // namespace toprun::launch
