#pragma once

#include <span>
#include <string>

#include "base/text/error.h"
#include "bench/pairs/pair_verdict.h"
#include "bench/tables/history.h"
#include "bench/tables/measurement.h"

namespace toprun::benchmark {

// Draws an SVG chart of busbw by size, with a line for each series. If each series has only one
// size, the chart shows busbw by number of ranks. Error: there is nothing to draw.
Result<std::string> drawn(const bench::Report& report);

// Draws an SVG chart of busbw by date. There is a line for each kind of measurement. If there are
// too many kinds for one picture, the chart shows only the first kinds.
Result<std::string> drawn(std::span<const bench::Kind> kinds);

// Draws an SVG heat map of the bandwidth from each node to each other node, in the order of ranks.
// The map marks the innermost domains, and each finding has a frame.
Result<std::string> drawn(const pairs::Cluster& cluster, std::span<const pairs::Measured> measured,
                          std::span<const pairs::Finding> findings);

}  // namespace toprun::benchmark
