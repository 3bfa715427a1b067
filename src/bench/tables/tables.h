#pragma once

#include <span>
#include <string>
#include <string_view>

#include "bench/tables/measurement.h"

namespace toprun::bench {

// The text that tables show for an unknown type or operation.
inline constexpr std::string_view no_name = "-";
std::string name_or_dash(const std::string& name);

// These functions return the parts of a table in the format of nccl-tests 2.19. The header, the
// rows and the two summary lines look exactly as in nccl-tests, so programs that read nccl-tests
// output can read toprun's. The comment lines above the table contain toprun's name. These comment
// lines contain a device's PCI address only if it is known. Times are means in µs, bandwidths are
// in GB/s. For an unchecked row, `wrong` is N/A.
std::string nccl_header(const Report& report, const Series& series);
std::string nccl_row(const Row& row);  // one line
std::string nccl_footer(const Series& series);

// Returns all tables of a report in the format of nccl-tests, one after another.
std::string nccl_text(const Report& report);

// Returns the value that nccl-tests prints as "Avg bus bandwidth": the mean over all sizes and both
// placements, in GB/s. 0 if there are no rows.
double average_busbw(const Series& series);
// Returns the number of wrong elements in all checked rows.
std::uint64_t wrong_elements(const Series& series);

// Returns one Markdown table per collective, with one row for each number of nodes, number of ranks
// and size. The columns are busbw and algbw in Gbps, for each combination of the fabric, backend,
// order, source, type, operation and root in which the series differ. If series differ in nodes or
// ranks, only the largest size is shown. If all rows have the same size, the size is in the
// heading. The cell of a combination that was not measured contains "-". If two series belong in
// the same cell of the table, the cell contains the later series. If the number of nodes or ranks
// is 0 (unknown), the table contains "-".
std::string markdown(std::span<const Report> reports);

// Returns a CSV table (RFC 4180, LF): a line of column names, then one line per row and placement
// (in or out of place). Empty fields are unknown. The last column, `source`, is present only if a
// series has a source.
std::string csv(std::span<const Report> reports);

}  // namespace toprun::bench
