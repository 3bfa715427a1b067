#pragma once

#include <optional>
#include <string>

#include "bench/tables/measurement.h"
#include "bench/tables/statistics.h"

namespace toprun::bench {

// A human-readable table of series that were measured in turns. The rows are grouped by size. The
// first series of each size is the baseline for the others. "limit" is busbw as a share of the
// links' limit. "ratio" is the series' time divided by the baseline's time, with the 95 % interval.
std::string comparison_heading(const Series& first);
std::string comparison_row(const Series& series, const Row& row, const std::optional<Ratio>& ratio);

}  // namespace toprun::bench
