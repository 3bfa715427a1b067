#pragma once

#include <string>
#include <string_view>

#include "bench/tables/measurement.h"

namespace toprun::bench {

// Replaces an unknown type or operation.
inline constexpr std::string_view no_name = "-";

// The tables of nccl-tests 2.19, byte for byte in header, rows and the two summary lines, so that
// whatever reads its output reads ours. The comment lines above the table name toprun instead, and
// a device has no PCI address. Times are means in µs, bandwidths in GB/s; a row's `wrong` that was
// not checked is N/A.
std::string nccl_header(const Report& report, const Series& series);
std::string nccl_row(const Row& row);  // one line
std::string nccl_footer(const Series& series);

// All tables, one after the other.
std::string nccl_text(const Report& report);

// What nccl-tests prints as "Avg bus bandwidth": the mean over all sizes and both placements, in
// GB/s; 0 without rows.
double average_busbw(const Series& series);
// Elements found wrong in all rows that were checked.
std::uint64_t wrong_elements(const Series& series);

}  // namespace toprun::bench
