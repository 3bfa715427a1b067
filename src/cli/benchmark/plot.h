#pragma once

#include <span>
#include <string>

#include "base/text/error.h"
#include "bench/pairs/verdict.h"
#include "bench/tables/history.h"
#include "bench/tables/measurement.h"

namespace toprun::benchmark {

// busbw over the size, a line for each series; where each series has one size only, over the number
// of ranks. SVG. Error: nothing to draw.
Result<std::string> drawn(const bench::Report& report);

// busbw over the days, a line for each kind; the first that fit into one picture. SVG.
Result<std::string> drawn(std::span<const bench::Kind> kinds);

// What each node sends to each other, in the order of ranks, innermost domains marked and what was
// found framed. SVG.
Result<std::string> drawn(const pairs::Cluster& cluster, std::span<const pairs::Measured> measured,
                          std::span<const pairs::Finding> findings);

}  // namespace toprun::benchmark
