#pragma once

#include <span>
#include <string>

#include "bench/tables/measurement.h"

namespace toprun::bench {

// A Markdown table per collective: a row for each number of nodes and ranks and each size, and
// busbw and algbw in Gbps for each fabric, backend, order, source, type, operation or root in which
// the series differ. Of several numbers of nodes or ranks, only the largest size is shown. A size
// that all rows have is in the heading.
// "-" where a combination was not measured; of two series for one cell the later stands. 0 nodes or
// ranks: "-" (not known).
std::string markdown(std::span<const Report> reports);

// One line per row and placement under a line of names (RFC 4180, LF). Empty fields: not known. The
// last column, `source`, is there only if a series has one.
std::string csv(std::span<const Report> reports);

}  // namespace toprun::bench
