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

// The results of one cell for one size. `turns` contains the time of each out-of-place iteration in
// microseconds, by turn. An iteration's time is the time of the slowest rank, unless
// Request::average selects another value. Cells are measured in turns, so the i-th turns of two
// cells can be compared even if the network's load changes slowly.
struct CellRow {
  std::size_t cell = 0;
  bench::Row row;
  std::vector<std::vector<double>> turns;
};

// The callbacks on rank 0: `row` for each measured row, `progress` after every turn. On other ranks
// the functions are empty.
struct Callbacks {
  std::function<void(const CellRow&)> row = {};
  std::function<void(const Progress&)> progress = {};
};

// Measures all cells, size by size, together with the other ranks.
Result<void> measure(Group& group, const Request& request, std::span<const Cell> cells,
                     const MakeBackend& make, const Callbacks& reported);

}  // namespace toprun::measure
