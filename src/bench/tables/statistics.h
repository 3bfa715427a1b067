#pragma once

#include <optional>
#include <span>
#include <vector>

#include "bench/tables/measurement.h"

namespace toprun::bench {

// Statistics of the iterations' times in microseconds, in any order. p99 is the nearest rank: the
// smallest sample that at least 99 % of the samples do not exceed (the largest of fewer than 100
// samples). The standard deviation divides by n-1. For one sample the cv is 0. Without samples all
// values are zero.
Times times_of(std::span<const double> microseconds);

// The smallest value that is not below this share, 0 … 1, of the values. Needs at least one value.
// The values are reordered.
double quantile(std::vector<double>& values, double share);

// The median. For an even number of values: the mean of the two in the middle. Needs one value or
// more.
double median(std::vector<double> values);

// The standard deviation of a normal distribution with these values' median distance from
// `centre`, which a few odd values do not move. One value or more.
double robust_deviation(std::vector<double> values, double centre);

// The factor between two times, or between two rates, and its 95 % confidence interval.
struct Ratio {
  double value = 1;
  double low = 0;
  double high = 0;
  bool is_significant() const { return low > 1 || high < 1; }
};

// a[i] / b[i] of pairs that were measured one after the other, so that what disturbs both cancels
// out: the geometric mean with a t interval over the logarithms. A bootstrap would be too narrow
// for the few pairs that a launcher can afford, and its result would depend on a seed. Unset: fewer
// than two pairs, lists of different lengths, or a value that is not positive and finite.
std::optional<Ratio> paired_ratio(std::span<const double> a, std::span<const double> b);

// a.mean_us / b.mean_us of two runs whose summaries alone are known: Welch's t interval on
// the logarithm of the ratio. Unset: fewer than two samples in one (0 is "not known"), or no time.
std::optional<Ratio> unpaired_ratio(const Times& a, const Times& b);

// The limit for variation between iterations below which their mean can be compared.
inline constexpr double usual_cv_limit = 0.05;
bool is_stable(double cv, double limit = usual_cv_limit);

}  // namespace toprun::bench
