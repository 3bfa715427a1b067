#include "bench/tables/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace toprun::bench {
namespace {

TEST(Statistics, TimesOf) {
  const struct {
    std::vector<double> samples;
    Times expected;
  } rows[] = {
      {{}, {}},
      {{7}, {7, 7, 7, 7, 0, 1}},
      {{4, 2}, {3, 2, 3, 4, std::sqrt(2.0) / 3, 2}},
      {{3, 1, 2}, {2, 1, 2, 3, 0.5, 3}},
      {{0, 0}, {0, 0, 0, 0, 0, 2}},
  };
  for (const auto& row : rows) {
    const Times times = times_of(row.samples);
    EXPECT_DOUBLE_EQ(times.mean_us, row.expected.mean_us);
    EXPECT_DOUBLE_EQ(times.min_us, row.expected.min_us);
    EXPECT_DOUBLE_EQ(times.median_us, row.expected.median_us);
    EXPECT_DOUBLE_EQ(times.p99_us, row.expected.p99_us);
    EXPECT_DOUBLE_EQ(times.cv, row.expected.cv);
    EXPECT_EQ(times.samples, row.expected.samples);
  }
}

TEST(Statistics, P99IsTheNearestRank) {
  for (const auto& [count, p99] : std::vector<std::pair<std::size_t, double>>{
           {99, 99}, {100, 99}, {101, 100}, {200, 198}, {1000, 990}}) {
    std::vector<double> samples(count);
    std::iota(samples.rbegin(), samples.rend(), 1.0);
    EXPECT_DOUBLE_EQ(times_of(samples).p99_us, p99) << count;
  }
}

TEST(Statistics, PairedRatioCancelsWhatDisturbsBoth) {
  // Each pair doubles, while the pairs themselves vary tenfold.
  const std::vector<double> a = {2, 20, 4, 10.1};
  const std::vector<double> b = {1, 10, 2, 5};
  const auto ratio = paired_ratio(a, b);
  ASSERT_TRUE(ratio);
  EXPECT_NEAR(ratio->value, 2.005, 0.001);
  EXPECT_GT(ratio->low, 1.98);
  EXPECT_LT(ratio->high, 2.03);
  EXPECT_TRUE(ratio->is_significant());
}

TEST(Statistics, PairedRatioByHand) {
  // Logarithms 0 and ln 4: mean ln 2, deviation 0.9803, error 0.6931, t(1) 12.7062.
  const auto ratio = paired_ratio(std::vector<double>{1, 4}, std::vector<double>{1, 1});
  ASSERT_TRUE(ratio);
  EXPECT_NEAR(ratio->value, 2, 1e-9);
  EXPECT_NEAR(std::log(ratio->high), std::log(2) + 12.7062 * std::log(2), 1e-6);
  EXPECT_NEAR(std::log(ratio->low), std::log(2) - 12.7062 * std::log(2), 1e-6);
  EXPECT_FALSE(ratio->is_significant());
}

TEST(Statistics, QuantileJoinsItsTable) {
  // 12 pairs, 11 degrees of freedom: t = 2.2010.
  std::vector<double> a;
  for (int i = 0; i < 12; ++i) a.push_back(i % 2 == 0 ? std::exp(1.0) : std::exp(-1.0));
  const auto ratio = paired_ratio(a, std::vector<double>(12, 1.0));
  ASSERT_TRUE(ratio);
  EXPECT_NEAR(std::log(ratio->high), 2.2010 / std::sqrt(11), 0.001);
}

TEST(Statistics, PairedRatioRefuses) {
  const std::vector<std::pair<std::vector<double>, std::vector<double>>> rows = {
      {{}, {}}, {{1}, {1}}, {{1, 2}, {1}}, {{1, 0}, {1, 1}}, {{1, 1}, {1, -1}}, {{1, NAN}, {1, 1}}};
  for (const auto& [a, b] : rows) EXPECT_FALSE(paired_ratio(a, b));
}

TEST(Statistics, UnpairedRatio) {
  const struct {
    Times a, b;
    bool is_known, is_significant;
  } rows[] = {
      {{110, 0, 0, 0, 0.02, 20}, {100, 0, 0, 0, 0.02, 20}, true, true},
      {{110, 0, 0, 0, 0.5, 20}, {100, 0, 0, 0, 0.5, 20}, true, false},
      {{110, 0, 0, 0, 0.05, 2}, {100, 0, 0, 0, 0.05, 2}, true, false},
      {{110, 0, 0, 0, 0, 5}, {100, 0, 0, 0, 0, 5}, true, true},
      {{110, 0, 0, 0, 0.02, 0}, {100, 0, 0, 0, 0.02, 20}, false, false},
      {{0, 0, 0, 0, 0, 20}, {100, 0, 0, 0, 0.02, 20}, false, false},
  };
  for (const auto& row : rows) {
    const auto ratio = unpaired_ratio(row.a, row.b);
    ASSERT_EQ(ratio.has_value(), row.is_known);
    if (!ratio) continue;
    EXPECT_NEAR(ratio->value, 1.1, 1e-9);
    EXPECT_EQ(ratio->is_significant(), row.is_significant);
  }
}

TEST(Statistics, IsStable) {
  EXPECT_TRUE(is_stable(0.05));
  EXPECT_FALSE(is_stable(0.051));
  EXPECT_TRUE(is_stable(0.2, 0.25));
  EXPECT_FALSE(is_stable(NAN));
}

}  // namespace
}  // namespace toprun::bench
