#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/tables/measurement.h"

namespace toprun::bench {

// A printed number and its maximum rounding error.
struct Printed {
  double value = 0;
  double error = 0;
};

// The numbers of ranks, as a range, that fit the bandwidths in a table. The ratio busbw / algbw is
// bus_factor(), which depends only on the number of ranks for most collectives.
class RankBounds {
 public:
  // Removes the numbers of ranks that do not fit the bandwidths of one row.
  void narrow(Collective collective, Printed algbw, Printed busbw);

  // Returns the only possible number of ranks; nullopt if several are possible, or none.
  std::optional<std::size_t> only() const;
  // Whether this number of ranks is possible. True for every number if the rows contradict each
  // other.
  bool allow(std::size_t ranks) const;
  std::size_t least() const;  // 1 or more

 private:
  bool is_contradiction() const;

  double least_ = 1;
  double most_ = std::numeric_limits<double>::infinity();
};

// A device in the list that nccl-tests prints, and its communicator (NCCL_TESTS_SPLIT).
struct ListedDevice {
  Device device;
  std::int64_t group = 0;
};

// Computes a row's number of ranks as size / (count · element). The size must be the total of all
// ranks. nullopt if the result is not a whole number above 1, or the type's width is unknown.
std::optional<std::size_t> ranks_by_count(const Row& row);

// Collects the results of ranks_by_count(); ranks() returns the result if it is the same for all
// rows.
class RanksByCount {
 public:
  void add(Collective collective, const Row& row);
  std::optional<std::size_t> ranks() const { return is_sure_ ? ranks_ : std::nullopt; }

 private:
  std::optional<std::size_t> ranks_;
  bool is_sure_ = true;
};

// Sets the series' ranks and nodes. If only one number of ranks fits the bandwidths, uses this
// number. Otherwise, uses the number that ranks_by_count() gives, or the number of devices in the
// list if the list is complete and valid. An incomplete list gives only a minimum: the highest rank
// plus 1.
void set_ranks(std::span<const ListedDevice> devices, const RankBounds& bounds,
               const RanksByCount& by_count, Series& series);

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

// Returns the index of the first word, from `first` on, at which a row may begin: a size, a count
// and a type. Returns words.size() if there is no such word.
std::size_t find_row(const Words& words, std::size_t first = 0);

// Returns the names of the columns in a row. Usually a row has the heading's columns, but some
// versions leave the operation blank, some headings lack the operation, and a row may lack in-place
// or out-of-place values that were skipped. If the result has more or fewer elements than `words`,
// the row does not fit the heading.
std::vector<std::string> columns_of_row(const NcclHeading& heading, const Words& words);

struct NcclRow {
  Row row;
  std::vector<std::pair<Printed, Printed>> bandwidths;  // algbw and busbw of each placement
};
// Reads a row of the table. The error names the word that does not fit, such as "\"fast\" is not a
// valid algbw".
std::expected<NcclRow, std::string> read_nccl_row(const NcclHeading& heading, const Words& words,
                                                  std::size_t iterations);

// Returns the size of one element in bytes. nullopt if the type does not exist in nccl-tests.
std::optional<std::uint64_t> width_of(std::string_view type);

}  // namespace toprun::bench
