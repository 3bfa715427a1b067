#pragma once

#include <optional>
#include <span>
#include <vector>

#include "bench/tables/measurement.h"

namespace toprun::bench {

// Computes the statistics of iteration times in microseconds, which may be in any order. p99 is
// computed by nearest rank: the smallest sample that at least 99 % of the samples do not exceed.
// For fewer than 100 samples, p99 is the largest sample. The standard deviation divides by n-1. For
// one sample, the cv is zero. Without samples, all values are zero.
Times times_of(std::span<const double> microseconds);

// Returns the smallest of the values for which at least `share` (0 … 1) of all values are equal or
// smaller. Needs at least one value. Reorders the values.
double quantile(std::vector<double>& values, double share);

// Returns the median; for an even number of values, the mean of the two middle values. Needs at
// least one value.
double median(std::vector<double> values);

// Returns a standard deviation that a few outliers do not change. A normal distribution with this
// deviation has the same median distance from `centre` as the values. Needs at least one value.
double robust_deviation(std::vector<double> values, double centre);

// The ratio of two times or two rates, and its 95 % confidence interval.
struct Ratio {
  double value = 1;
  double low = 0;
  double high = 0;
  bool is_significant() const { return low > 1 || high < 1; }
};

// Returns the geometric mean of a[i] / b[i], with a t interval over the logarithms. a[i] and b[i]
// were measured one after the other, so a disturbance of both cancels out. A bootstrap interval
// would be too narrow for the few pairs that a launcher can measure, and would depend on a seed.
// Unset if there are fewer than two pairs, the lists have different lengths, or a value is not
// positive and finite.
std::optional<Ratio> paired_ratio(std::span<const double> a, std::span<const double> b);

// Returns the ratio a.mean_us / b.mean_us of two runs whose single iteration times are unknown. The
// interval is Welch's t interval for the logarithm of the ratio. Unset if a run has fewer than two
// samples (0: unknown) or no time.
std::optional<Ratio> unpaired_ratio(const Times& a, const Times& b);

// Mean iteration times can be compared if the iterations' cv is below this limit.
inline constexpr double usual_cv_limit = 0.05;
bool is_stable(double cv, double limit = usual_cv_limit);

}  // namespace toprun::bench
