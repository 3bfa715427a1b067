#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "bench/tables/measurement.h"
#include "bench/tables/rank_bounds.h"

namespace toprun::bench {

// A device in nccl-tests' list, and its communicator (NCCL_TESTS_SPLIT).
struct ListedDevice {
  Device device;
  std::int64_t group = 0;
};

// size / (count · element) of a collective whose size is that of all ranks together; nullopt: not a
// whole number above 1, or the type's width is not known.
std::optional<std::size_t> ranks_by_count(const Row& row);

// That number if all rows agree.
class RanksByCount {
 public:
  void add(Collective collective, const Row& row);
  std::optional<std::size_t> ranks() const { return is_sure_ ? ranks_ : std::nullopt; }

 private:
  std::optional<std::size_t> ranks_;
  bool is_sure_ = true;
};

// Sets the series' ranks and nodes. It uses the bandwidths if they allow only one number, otherwise
// the counts, otherwise a complete and valid list of devices. An incomplete list still gives the
// highest rank as a minimum.
void set_ranks(std::span<const ListedDevice> devices, const RankBounds& bounds,
               const RanksByCount& by_count, Series& series);

}  // namespace toprun::bench
