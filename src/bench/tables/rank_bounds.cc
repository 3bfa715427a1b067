#include "bench/tables/rank_bounds.h"

#include <algorithm>
#include <cmath>

namespace toprun::bench {
namespace {

// Against the rounding of our own arithmetic.
constexpr double slack = 1e-6;

// What busbw / algbw comes near to with many ranks; 0: it tells nothing of them.
double limit_of(Collective collective) {
  if (collective == Collective::all_reduce) return 2;
  return facts_of(collective).size_is_total ? 1 : 0;
}

// Where limit·(n-1)/n is this factor.
double ranks_with(double limit, double factor) {
  return factor < limit ? limit / (limit - factor) : std::numeric_limits<double>::infinity();
}

}  // namespace

void RankBounds::narrow(Collective collective, Printed algbw, Printed busbw) {
  const double limit = limit_of(collective);
  if (limit == 0 || algbw.value <= algbw.error || busbw.value <= 0) return;
  const double lowest = std::max(0.0, busbw.value - busbw.error) / (algbw.value + algbw.error);
  const double highest = (busbw.value + busbw.error) / (algbw.value - algbw.error);
  least_ = std::max(least_, ranks_with(limit, lowest));
  most_ = std::min(most_, ranks_with(limit, highest));
}

bool RankBounds::is_contradiction() const {
  return std::isinf(least_) || std::ceil(least_ - slack) > std::floor(most_ + slack);
}

std::optional<std::size_t> RankBounds::only() const {
  if (is_contradiction() || std::isinf(most_)) return std::nullopt;
  const double first = std::ceil(least_ - slack);
  if (first != std::floor(most_ + slack)) return std::nullopt;
  return static_cast<std::size_t>(first);
}

bool RankBounds::allow(std::size_t ranks) const {
  const auto n = static_cast<double>(ranks);
  return is_contradiction() || (n >= least_ - slack && n <= most_ + slack);
}

std::size_t RankBounds::least() const {
  return is_contradiction() ? 1 : static_cast<std::size_t>(std::ceil(least_ - slack));
}

}  // namespace toprun::bench
