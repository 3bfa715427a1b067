#pragma once

#include <string>

#include "bench/kinds.h"
#include "bench/measurement.h"

namespace toprun::bench {

// A table for people that is printed while it is measured: the heading once, then one line per row.
// Of a row's placements it shows the one that side_of() names. Bandwidths are in GB/s; "wire" is
// the wire floor's share of the line rate, "-" where that is not known; "wrong" counts both
// placements,
// "-" where nothing was checked. `kinds` adds columns.
std::string live_heading(const Series& series, const Kinds& kinds = {});
std::string live_row(const Series& series, const Row& row, const Kinds& kinds = {});

// ", 8 ranks on 2 nodes", ", at least 72 ranks": what is known of them; empty: nothing.
std::string ranks_text(const Series& series);

// A time in µs with its unit: "12.50 µs", "3.20 ms".
std::string time_text(double microseconds);

// GB/s with three digits or more that count: "381.40", "1.23", "0.0451".
std::string rate_text(double gigabytes_per_second);

// Bytes with a binary unit: "512 B", "1 KiB", "1.5 MiB"; three significant digits.
std::string size_text(std::uint64_t bytes);

}  // namespace toprun::bench
