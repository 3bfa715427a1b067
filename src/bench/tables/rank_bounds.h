#pragma once

#include <cstddef>
#include <limits>
#include <optional>

#include "bench/tables/collective.h"

namespace toprun::bench {

// A printed number and its maximum rounding error.
struct Printed {
  double value = 0;
  double error = 0;
};

// The numbers of ranks that fit the bandwidths in a table. The ratio busbw / algbw is bus_factor().
// For most collectives, this ratio depends only on the number of ranks.
class RankBounds {
 public:
  void narrow(Collective collective, Printed algbw, Printed busbw);

  // The number of ranks, if only one is possible. nullopt: several numbers or no numbers are
  // possible.
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
