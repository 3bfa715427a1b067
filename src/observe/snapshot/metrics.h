#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "observe/snapshot/board.h"
#include "observe/snapshot/snapshot.h"

namespace toprun::snapshot {

// Prometheus's own text format 0.0.4, which every client reads, or OpenMetrics 1.0.
enum class MetricsForm { classic, openmetrics };

// Returns `openmetrics` if a request's Accept field names OpenMetrics, otherwise `classic`.
// Prometheus's client libraries do the same.
MetricsForm metrics_form(std::string_view accept);
std::string_view type_of(MetricsForm form);  // the Content-Type

// In jobs with more ranks than this, the metrics contain series for nodes only, not for ranks.
inline constexpr std::size_t most_ranks_with_series = 4'096;

// Returns the run's metrics for Prometheus (names: docs/guides/metrics.md).
std::string metrics_text(const Run& run, const Board& board, const Hanging& hanging,
                         MetricsForm form);

}  // namespace toprun::snapshot
