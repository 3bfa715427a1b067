#include "pairs/statistics.h"

#include <algorithm>
#include <cmath>

namespace toprun::pairs {
namespace {

constexpr double deviations_per_median_distance = 1.4826;  // of a normal distribution

}  // namespace

double quantile(std::vector<double>& values, double share) {
  const double rank = std::ceil(share * static_cast<double>(values.size()));
  const auto nth = values.begin() + std::max<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(rank), 1);
  std::ranges::nth_element(values, nth - 1);
  return *(nth - 1);
}

double median(std::vector<double> values) {
  const double low = quantile(values, 0.5);
  if (values.size() % 2 == 1) return low;
  const auto upper = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  return (low + *std::min_element(upper, values.end())) / 2;
}

double deviation(std::vector<double> values, double centre) {
  for (double& value : values) value = std::abs(value - centre);
  return deviations_per_median_distance * median(std::move(values));
}

}  // namespace toprun::pairs
