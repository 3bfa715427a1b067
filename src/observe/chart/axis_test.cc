#include "observe/chart/axis.h"

#include <gtest/gtest.h>

namespace toprun::chart {
namespace {

std::string labels(const Range& range) {
  std::string out;
  for (const Tick& tick : range.ticks) out += (out.empty() ? "" : ", ") + tick.label;
  return out;
}

TEST(Axis, Ticks) {
  const struct {
    double least, most;
    Scale scale;
    std::string_view unit;
    std::size_t requested;
    std::string_view labels;
  } rows[] = {
      {0, 100, Scale::linear, "", 5, "0, 20, 40, 60, 80, 100"},
      {3, 97, Scale::linear, "GB/s", 5, "0, 20, 40, 60, 80, 100"},
      {90, 99, Scale::linear, "", 5, "90, 92, 94, 96, 98, 100"},
      {-1, 1, Scale::linear, "", 4, "-1, -0.5, 0, 0.5, 1"},
      {0, 0.03, Scale::linear, "", 3, "0, 0.01, 0.02, 0.03"},
      {5, 5, Scale::linear, "", 4, "0, 2, 4, 6, 8"},
      {0, 0, Scale::linear, "", 2, "-1, 0, 1"},
      {0, 4e6, Scale::linear, "B", 4, "0 B, 1 MiB, 2 MiB, 3 MiB, 4 MiB"},
      {1024, 65536, Scale::log2, "B", 6, "1 KiB, 2 KiB, 4 KiB, 8 KiB, 16 KiB, 32 KiB, 64 KiB"},
      {8, 8.6e9, Scale::log2, "B", 5, "8 B, 1 KiB, 128 KiB, 16 MiB, 2 GiB, 256 GiB"},
      {4, 4, Scale::log2, "", 9, "2, 4, 8"},
      {2, 1024, Scale::log2, "", 9, "2, 4, 8, 16, 32, 64, 128, 256, 512, 1024"},
      {0.02, 300, Scale::log10, "", 6, "0.01, 0.1, 1, 10, 100, 1000"},
      {0.3, 1.2, Scale::log10, "", 6, "0.2, 0.5, 1, 2"},
      {0.3, 3, Scale::log10, "", 6, "0.2, 0.5, 1, 2, 5"},
      {0.0451, 0.0463, Scale::log10, "", 6,
       "0.045, 0.0452, 0.0454, 0.0456, 0.0458, 0.046, 0.0462, 0.0464"},
      {1e-9, 1e9, Scale::log10, "", 6, "1e-09, 1e-06, 0.001, 1, 1000, 1e+06, 1e+09"},
      {7, 7, Scale::log10, "", 6, "2, 5, 10, 20"},
      {10, 10, Scale::log10, "", 6, "5, 6, 8, 10, 15, 20"},
  };
  for (const auto& [least, most, scale, unit, requested, expected] : rows) {
    const Range range = range_of(least, most, scale, unit, requested);
    EXPECT_EQ(labels(range), expected);
    EXPECT_LE(range.low, least);
    EXPECT_GE(range.high, most);
    EXPECT_DOUBLE_EQ(position(range.low, range, scale), 0);
    EXPECT_DOUBLE_EQ(position(range.high, range, scale), 1);
  }
}

TEST(Axis, Positions) {
  EXPECT_DOUBLE_EQ(position(25, {0, 100, {}}, Scale::linear), 0.25);
  EXPECT_DOUBLE_EQ(position(8, {1, 64, {}}, Scale::log2), 0.5);
  EXPECT_DOUBLE_EQ(position(10, {1, 100, {}}, Scale::log10), 0.5);
}

TEST(Axis, Figures) {
  const struct {
    double value;
    std::string_view unit, shown;
  } rows[] = {
      {120000, "", "120000"},  {98.765, "", "98.77"},   {1e7, "", "1e+07"},
      {1536, "B", "1.50 KiB"}, {1 << 30, "B", "1 GiB"}, {0, "B", "0 B"},
  };
  for (const auto& [value, unit, shown] : rows) EXPECT_EQ(figure(value, unit), shown);
}

}  // namespace
}  // namespace toprun::chart
