#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "bench/tables/measurement.h"
#include "bench/tables/rank_bounds.h"

namespace toprun::bench {

// A device in the list that nccl-tests prints, and its communicator (NCCL_TESTS_SPLIT).
struct ListedDevice {
  Device device;
  std::int64_t group = 0;
};

// The number of ranks, if the size is the total of all ranks: size / (count · element). nullopt:
// the result is not a whole number above 1, or the type's width is unknown.
std::optional<std::size_t> ranks_by_count(const Row& row);

// The result of ranks_by_count(), if it is the same for all rows.
class RanksByCount {
 public:
  void add(Collective collective, const Row& row);
  std::optional<std::size_t> ranks() const { return is_sure_ ? ranks_ : std::nullopt; }

 private:
  std::optional<std::size_t> ranks_;
  bool is_sure_ = true;
};

// Sets the series' ranks and nodes. If only one number of ranks fits the bandwidths, the series has
// this number of ranks. Otherwise the counts determine it, or else the list of devices, if the list
// is complete and valid. An incomplete list gives only a minimum: the highest rank plus 1.
void set_ranks(std::span<const ListedDevice> devices, const RankBounds& bounds,
               const RanksByCount& by_count, Series& series);

}  // namespace toprun::bench
