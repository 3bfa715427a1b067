#include <gtest/gtest.h>

#include "bench/tables/import_nccl_row.h"

namespace toprun::bench {
namespace {

// As printed with two decimals.
Printed hundredths(double value) {
  return {value, 0.005};
}

TEST(RankBounds, FiguresThatTellTheNumber) {
  const struct {
    Collective collective;
    double algbw, busbw;
    std::size_t only;  // 0: not one
    std::size_t possible, impossible;
  } rows[] = {
      {Collective::all_reduce, 297.16, 586.06, 72, 72, 71},
      {Collective::all_reduce, 92.08, 161.14, 8, 8, 16},
      {Collective::all_reduce, 6.14, 9.21, 4, 4, 3},
      {Collective::all_reduce, 0.01, 0.02, 0, 64, 1},  // rounded too much
      {Collective::all_reduce, 10, 10, 2, 2, 3},
      {Collective::all_gather, 119.43, 111.96, 16, 16, 8},
      {Collective::reduce_scatter, 40, 20, 2, 2, 4},
      {Collective::broadcast, 40, 40, 0, 999, 0},
      {Collective::sendrecv, 40, 40, 0, 999, 0},
      {Collective::all_gather, 40, 80, 0, 7, 0},  // no number gives this
  };
  for (const auto& row : rows) {
    RankBounds bounds;
    bounds.narrow(row.collective, hundredths(row.algbw), hundredths(row.busbw));
    EXPECT_EQ(bounds.only().value_or(0), row.only) << row.busbw;
    EXPECT_TRUE(bounds.allow(row.possible)) << row.busbw;
    if (row.impossible > 0) EXPECT_FALSE(bounds.allow(row.impossible)) << row.busbw;
  }
}

TEST(RankBounds, RowsTogetherTellMore) {
  RankBounds bounds;
  for (const double algbw : {0.51, 0.66, 0.73, 0.81}) {
    const double busbw = std::round(algbw * 2 * 15 / 16 * 100) / 100;
    bounds.narrow(Collective::all_reduce, hundredths(algbw), hundredths(busbw));
    EXPECT_TRUE(bounds.allow(16));
  }
  EXPECT_FALSE(bounds.only());
  EXPECT_GT(bounds.least(), 8u);
  bounds.narrow(Collective::all_reduce, hundredths(200), hundredths(375));
  EXPECT_EQ(bounds.only(), 16u);
}

// Whatever the number of ranks, its own figures never exclude it.
TEST(RankBounds, NeverExcludesTheTruth) {
  for (std::size_t ranks = 2; ranks <= 4096; ranks = ranks * 3 / 2) {
    for (const double algbw : {0.004, 0.016, 0.3337, 7.77, 123.456, 987.654}) {
      for (const Collective collective : {Collective::all_reduce, Collective::alltoall}) {
        const double busbw = algbw * bus_factor(collective, ranks);
        const auto printed = [](double value) {
          return Printed{std::round(value * 100) / 100, 0.005};
        };
        RankBounds bounds;
        bounds.narrow(collective, printed(algbw), printed(busbw));
        EXPECT_TRUE(bounds.allow(ranks)) << ranks << " ranks, " << algbw;
        EXPECT_LE(bounds.least(), ranks);
        EXPECT_EQ(bounds.only().value_or(ranks), ranks);
      }
    }
  }
}

}  // namespace
}  // namespace toprun::bench
