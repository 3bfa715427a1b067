#pragma once

#include <string>

#include "bench/tables/kinds.h"
#include "bench/tables/measurement.h"

namespace toprun::bench {

// The columns that not every table needs.
struct TableColumns {
  Kinds kinds;
  // The wire floor's share of the line rate: of several nodes, where that rate is known.
  bool wire = false;
  // Both placements; else the one that side_of() names.
  bool in_place = false;
};
// Those that a series needs whose rows are all known.
TableColumns columns_of(const Series& series);

// A table for people that is printed while it is measured: the heading once, then one line per row.
// Bandwidths are in GB/s; "wrong" counts both placements, "-" where nothing was checked.
std::string live_heading(const Series& series, const TableColumns& columns = {});
std::string live_row(const Series& series, const Row& row, const TableColumns& columns = {});

// "all_reduce over tcp, 8 ranks on 2 nodes, order topology": what is known of it.
std::string what_was_run(const Series& series);

// ", 8 ranks on 2 nodes", ", at least 72 ranks": what is known of them; empty: nothing.
std::string ranks_text(const Series& series);

// A time in µs with its unit: "12.50 µs", "3.20 ms".
std::string time_text(double microseconds);

// GB/s with three digits or more that count: "381.40", "1.23", "0.0451".
std::string rate_text(double gigabytes_per_second);

// Bytes with a binary unit: "512 B", "1 KiB", "1.5 MiB"; three significant digits.
std::string size_text(std::uint64_t bytes);

}  // namespace toprun::bench
