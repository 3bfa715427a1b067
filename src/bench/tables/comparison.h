#pragma once

#include <optional>
#include <string>

#include "bench/tables/measurement.h"
#include "bench/tables/statistics.h"

namespace toprun::bench {

// A table of series that were measured in turns, for people: printed size by size, the first series
// of each size being what the others are held against. "limit" is busbw's share of what the links
// allow. "ratio" is how many times the first one's time a series takes, with its 95 % interval.
std::string comparison_heading(const Series& first);
std::string comparison_row(const Series& series, const Row& row, const std::optional<Ratio>& ratio);

}  // namespace toprun::bench
