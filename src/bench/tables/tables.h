#pragma once

#include <span>
#include <string>

#include "bench/tables/measurement.h"

namespace toprun::bench {

// One Markdown table per collective. There is one row for each number of nodes, number of ranks and
// size. The columns are busbw and algbw in Gbps, for each combination of the fabric, backend,
// order, source, type, operation and root in which the series differ. If the numbers of nodes or
// ranks differ, only the largest size is shown. If all rows have the same size, the size is in the
// heading. The cell of a combination that was not measured contains "-". If two series belong in
// the same cell of the table, the later series is shown. A number of 0 nodes or ranks is unknown,
// and printed as "-".
std::string markdown(std::span<const Report> reports);

// A CSV table (RFC 4180, LF): a line of column names, then one line per row and placement. Empty
// fields are unknown. The last column, `source`, is present only if a series has a source.
std::string csv(std::span<const Report> reports);

}  // namespace toprun::bench
