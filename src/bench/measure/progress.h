#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace toprun::measure {

// The progress of a measurement. `done` and `total` have any unit that grows with time.
struct Progress {
  std::string what;  // the current part: "64 MiB", "round 3 of 63"
  double done = 0;
  double total = 0;
};

// Makes the lines that show the remaining time now and then. Without these lines, a measurement of
// many sizes or pairs would print nothing for minutes.
class ProgressLines {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::chrono::seconds interval{10};

  explicit ProgressLines(Time began) : last_(began) {}

  // The line for the time `now`: "64 MiB, about 40 s left". nullopt: it is too early for the next
  // line, or the measurement is complete. The remaining time is estimated from the progress since
  // the last line.
  std::optional<std::string> at(const Progress& progress, Time now);

 private:
  Time last_;
  double done_ = 0;
};

}  // namespace toprun::measure
