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

// The heading of nccl-tests' table: the names of its columns as 2.x prints them.
struct NcclHeading {
  std::size_t at = 0;  // where it begins in its line, a "#" before it left out
  std::vector<std::string> columns;
  double time_unit_us = 1;  // NCCL 1 and the first nccl-tests measured in milliseconds
};
// "#  size  count  type  redop  time  algbw  busbw …", also "#  bytes  N  type  op  time …" of the
// first versions, and without the "#", which web pages lose.
std::optional<NcclHeading> find_heading(std::string_view line);

// Where in a line's words a row may begin: a size, a count and a type. From `first` on;
// words.size(): nowhere.
std::size_t find_row(const Words& words, std::size_t first = 0);

// The columns that a row of so many words has under its heading: with all, without the operation,
// which some versions leave blank, with one that the heading lacks, or without the placement that
// was skipped. Of another number than `words`: it does not fit.
std::vector<std::string> columns_of_row(const NcclHeading& heading, const Words& words);

struct NcclRow {
  Row row;
  std::vector<std::pair<Printed, Printed>> bandwidths;  // algbw and busbw of each placement
};
// The error says which word does not fit, as in "\"fast\" is not a valid algbw".
std::expected<NcclRow, std::string> read_nccl_row(const NcclHeading& heading, const Words& words,
                                                  std::size_t iterations);

// The bytes of one element; nullopt: a type that nccl-tests does not have.
std::optional<std::uint64_t> width_of(std::string_view type);

}  // namespace toprun::bench
