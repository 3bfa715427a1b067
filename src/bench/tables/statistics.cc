#include "bench/tables/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace toprun::bench {
namespace {

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation_of(std::span<const double> values, double mean) {
  if (values.size() < 2) return 0;
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

constexpr double deviations_per_median_distance = 1.4826;  // of a normal distribution

// Student's t, two-sided 95 %, for 1 to 10 degrees of freedom.
constexpr std::array<double, 10> t_few = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706,
                                          2.4469,  2.3646, 2.3060, 2.2622, 2.2281};

// Above the table: the first terms of the expansion around the normal quantile, off by less than
// 0.003. Welch's degrees of freedom are not whole numbers: the next lower entry is the careful one.
double t_quantile(double freedom) {
  if (freedom < static_cast<double>(t_few.size()) + 1) {
    return t_few[static_cast<std::size_t>(std::max(freedom, 1.0)) - 1];
  }
  constexpr double z = 1.959964;
  constexpr double first = (z * z * z + z) / 4;
  constexpr double second = (5 * z * z * z * z * z + 16 * z * z * z + 3 * z) / 96;
  return z + first / freedom + second / (freedom * freedom);
}

Ratio ratio_of_logarithms(double mean, double half_width) {
  return {std::exp(mean), std::exp(mean - half_width), std::exp(mean + half_width)};
}

bool has_logarithm(double value) {
  return std::isfinite(value) && value > 0;
}

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

double robust_deviation(std::vector<double> values, double centre) {
  for (double& value : values) value = std::abs(value - centre);
  return deviations_per_median_distance * median(std::move(values));
}

Times times_of(std::span<const double> microseconds) {
  if (microseconds.empty()) return {};
  std::vector<double> values(microseconds.begin(), microseconds.end());
  Times times;
  times.samples = values.size();
  times.mean_us = mean_of(values);
  times.min_us = std::ranges::min(values);
  times.p99_us = quantile(values, 0.99);
  times.cv = times.mean_us > 0 ? deviation_of(values, times.mean_us) / times.mean_us : 0;
  times.median_us = median(std::move(values));
  return times;
}

std::optional<Ratio> paired_ratio(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size() || a.size() < 2) return std::nullopt;
  std::vector<double> logarithms;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!has_logarithm(a[i]) || !has_logarithm(b[i])) return std::nullopt;
    logarithms.push_back(std::log(a[i]) - std::log(b[i]));
  }
  const double mean = mean_of(logarithms);
  const auto count = static_cast<double>(logarithms.size());
  const double error = deviation_of(logarithms, mean) / std::sqrt(count);
  return ratio_of_logarithms(mean, t_quantile(count - 1) * error);
}

std::optional<Ratio> unpaired_ratio(const Times& a, const Times& b) {
  if (a.samples < 2 || b.samples < 2) return std::nullopt;
  if (!has_logarithm(a.mean_us) || !has_logarithm(b.mean_us)) return std::nullopt;
  // The variance of a mean's logarithm is nearly cv² / n.
  const auto a_count = static_cast<double>(a.samples);
  const auto b_count = static_cast<double>(b.samples);
  const double a_variance = a.cv * a.cv / a_count;
  const double b_variance = b.cv * b.cv / b_count;
  const double variance = a_variance + b_variance;
  const double spread =
      a_variance * a_variance / (a_count - 1) + b_variance * b_variance / (b_count - 1);
  const double freedom = spread > 0 ? variance * variance / spread : a_count + b_count - 2;
  return ratio_of_logarithms(std::log(a.mean_us) - std::log(b.mean_us),
                             t_quantile(freedom) * std::sqrt(variance));
}

bool is_stable(double cv, double limit) {
  return cv <= limit;
}

}  // namespace toprun::bench
