#pragma once

#include <string>

#include "base/text/text.h"
#include "bench/tables/measurement.h"

namespace toprun::bench {

// The optional columns of a table.
struct TableColumns {
  Kinds kinds;
  // Whether to show the column of wire_share() (figures.h). True for several nodes if the line rate
  // is known.
  bool wire = false;
  // True: show in-place and out-of-place results. False: show only the side that side_of() returns.
  bool in_place = false;
};
// Chooses the optional columns for a series whose rows have all been measured.
TableColumns columns_of(const Series& series);

// These functions return the heading and one row of a human-readable table. The table is printed
// during the measurement. Bandwidths are in GB/s. The column "wrong" contains the number of wrong
// elements, in place and out of place together, or "-" if the results were not checked.
std::string live_heading(const Series& series, const TableColumns& columns = {});
std::string live_row(const Series& series, const Row& row, const TableColumns& columns = {});

// Describes the known facts about the series: "all_reduce over tcp, 8 ranks on 2 nodes, order
// topology".
std::string what_was_run(const Series& series);

// Returns ", 8 ranks on 2 nodes" or ", at least 72 ranks"; empty if the number of ranks is unknown.
std::string ranks_text(const Series& series);

// Removes the blanks before the line's end, so that a heading's last line has none.
std::string without_blanks_at_end(std::string line);

// Formats a time with its unit: "12.50 µs", "3.20 ms".
std::string time_text(double microseconds);

// Formats a rate in GB/s with at least three significant digits: "381.40", "1.23", "0.0451".
std::string rate_text(double gigabytes_per_second);
// Formats busbw like rate_text(). "-" if nothing is sent, because there is only one rank.
std::string busbw_text(const Side& side);

// Formats a size with a binary unit and three significant digits: "512 B", "1 KiB", "1.50 MiB".
inline std::string size_text(std::uint64_t bytes) {
  return bytes_text(static_cast<double>(bytes));
}

}  // namespace toprun::bench
