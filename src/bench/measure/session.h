#pragma once

#include <functional>
#include <vector>

#include "bench/measure/backend.h"
#include "bench/measure/cells.h"
#include "bench/measure/join.h"
#include "bench/measure/progress.h"
#include "bench/measure/request.h"
#include "bench/tables/measurement.h"

namespace toprun::measure {

// What one cell measured for one size: the row, and the time of each iteration out of place (the
// slowest rank's, or what Request::average says), in microseconds, by turn. Cells take turns, so
// that the i-th turns of two cells can be compared although the network's load drifts.
struct CellRow {
  std::size_t cell = 0;
  bench::Row row;
  std::vector<std::vector<double>> turns;
};

// What rank 0 hears: each row as soon as it is measured, and after every turn how far all is.
// Empty functions elsewhere.
struct Callbacks {
  std::function<void(const CellRow&)> row = {};
  std::function<void(const Progress&)> progress = {};
};

// Measures all cells together with the other ranks, size by size.
Result<void> measure(Group& group, const Request& request, std::span<const Cell> cells,
                     const MakeBackend& make, const Callbacks& reported);

}  // namespace toprun::measure
