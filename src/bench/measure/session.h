#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/measure/backend.h"
#include "bench/measure/cells.h"
#include "bench/measure/join.h"
#include "bench/measure/request.h"
#include "bench/tables/measurement.h"

namespace toprun::measure {

// The progress of a measurement. `done` and `total` can be in any unit, as long as `done` grows
// with time.
struct Progress {
  std::string what;  // the current part: "64 MiB", "round 3 of 63"
  double done = 0;
  double total = 0;
};

// Generates a progress line with the estimated remaining time, at intervals. Without these lines, a
// measurement of many sizes or pairs would print nothing for minutes.
class ProgressLines {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::chrono::seconds interval{10};

  explicit ProgressLines(Time began) : last_(began) {}

  // Returns the line to print at the time `now`: "64 MiB, about 40 s left". nullopt if it is too
  // early for the next line, or the measurement is complete. The remaining time is estimated from
  // the progress since the previous line.
  std::optional<std::string> at(const Progress& progress, Time now);

 private:
  Time last_;
  double done_ = 0;
};

// The results of one Cell (cells.h) for one size. The cells take turns: in each turn, a cell runs
// some iterations. So the i-th turns of two cells follow each other closely, and can be compared
// even if the network's load changes slowly. `turns` contains, for each turn, the times of the
// out-of-place iterations in microseconds. An iteration's time is that of the slowest rank, unless
// Request::average selects another value.
struct CellRow {
  std::size_t cell = 0;
  bench::Row row;
  std::vector<std::vector<double>> turns;
};

// Functions that measure() calls on rank 0. It calls `row` when a row of the table is complete,
// `progress` after a cell has run some iterations, and `remark` with a line for the user. On other
// ranks, the functions are empty.
struct Callbacks {
  std::function<void(const CellRow&)> row = {};
  std::function<void(const Progress&)> progress = {};
  std::function<void(const std::string&)> remark = {};
};

// Measures all configurations (`cells`), size by size, together with the other ranks.
Result<void> measure(Group& group, const Request& request, std::span<const Cell> cells,
                     const MakeBackend& make, const Callbacks& reported);

}  // namespace toprun::measure
