#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "observe/snapshot/board.h"
#include "observe/snapshot/snapshot.h"

namespace toprun::snapshot {

inline constexpr std::string_view metrics_type =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";
// In jobs with more ranks than this, only nodes have their own series.
inline constexpr std::size_t most_ranks_with_series = 4'096;

// The run's metrics for Prometheus, in the text format of OpenMetrics 1.0 (names:
// docs/guides/metrics.md).
std::string metrics_text(const Run& run, const Board& board, const Hanging& hanging);

}  // namespace toprun::snapshot
