#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/measure/session.h"
#include "bench/tables/live_table.h"
#include "bench/tables/measurement.h"
#include "cli/benchmark/request.h"

namespace toprun::benchmark {

// Prints and saves the results on rank 0. In the table format and the format of nccl-tests, each
// row is printed immediately. Other formats are printed at the end. The saved file always contains
// all rows so far, so an interrupted measurement is not lost.
class BenchOutput {
 public:
  BenchOutput(const BenchRequest& request, const measure::Group& group,
              std::span<const measure::Opened> opened, std::span<const measure::Cell> cells,
              std::vector<std::string> argv, const Environment& environment);

  void add(const measure::CellRow& measured);
  // Prints what is not printed yet, and returns the exit code: failure if elements were wrong or
  // the file cannot be written.
  Result<int> finish();

 private:
  void print_row(const measure::CellRow& measured);
  void print_comparison();
  void print_remarks() const;
  bool is_comparison() const { return report_.series.size() > 1; }
  Result<int> judge() const;
  Result<void> save() const;

  const BenchRequest& request_;
  const Environment& environment_;
  bench::Report report_;
  bench::TableColumns columns_;                 // columns of the table format
  std::vector<std::string> limits_;             // what limits the speed of each cell; empty:
                                                // unknown
  std::vector<measure::CellRow> of_this_size_;  // rows of the current size, by cell
  Result<void> saved_;
};

}  // namespace toprun::benchmark
