#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/tables/measurement.h"
#include "bench/tables/rank_bounds.h"

namespace toprun::bench {

using Words = std::vector<std::string_view>;

// The heading of an nccl-tests table. The columns have the names that nccl-tests 2.x prints.
struct NcclHeading {
  std::size_t at = 0;  // where the heading begins in the line, after a "#"
  std::vector<std::string> columns;
  double time_unit_us = 1;  // 1000 for NCCL 1 and the first nccl-tests, which print milliseconds
};
// Finds a heading: "#  size  count  type  redop  time  algbw  busbw …", or "#  bytes  N  type  op
// time …" from the first versions. The "#" may be missing, because web pages drop it.
std::optional<NcclHeading> find_heading(std::string_view line);

// The index of the first word, from `first` on, at which a row may begin: a size, a count and a
// type. words.size(): no such word.
std::size_t find_row(const Words& words, std::size_t first = 0);

// The names of the columns in a row. Usually a row has the heading's columns, but there are three
// exceptions. Some versions leave the operation blank. Some headings lack the operation. A row may
// lack in-place or out-of-place values that were skipped. If the number of columns is not the
// number of words, the row does not fit.
std::vector<std::string> columns_of_row(const NcclHeading& heading, const Words& words);

struct NcclRow {
  Row row;
  std::vector<std::pair<Printed, Printed>> bandwidths;  // algbw and busbw of each placement
};
// The error names the word that does not fit, such as "\"fast\" is not a valid algbw".
std::expected<NcclRow, std::string> read_nccl_row(const NcclHeading& heading, const Words& words,
                                                  std::size_t iterations);

// The size of one element in bytes. nullopt: the type does not exist in nccl-tests.
std::optional<std::uint64_t> width_of(std::string_view type);

}  // namespace toprun::bench
