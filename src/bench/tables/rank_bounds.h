#pragma once

#include <cstddef>
#include <limits>
#include <optional>

#include "bench/tables/collective.h"

namespace toprun::bench {

// A figure as printed, and the maximum rounding error.
struct Printed {
  double value = 0;
  double error = 0;
};

// The numbers of ranks that are possible with the bandwidths of a table's rows: busbw / algbw is
// bus_factor(), which for most collectives depends on the number of ranks alone.
class RankBounds {
 public:
  void narrow(Collective collective, Printed algbw, Printed busbw);

  // The only possible number; nullopt: several numbers are possible, or none.
  std::optional<std::size_t> only() const;
  // Whether the number is possible. Also true if the rows contradict each other.
  bool allow(std::size_t ranks) const;
  std::size_t least() const;  // 1 or more

 private:
  bool is_contradiction() const;

  double least_ = 1;
  double most_ = std::numeric_limits<double>::infinity();
};

}  // namespace toprun::bench
