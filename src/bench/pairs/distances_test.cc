#include "bench/pairs/distances.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace toprun::pairs {
namespace {

Measured pair(std::size_t a, std::size_t b, std::size_t round, double there, double back) {
  Measured out;
  out.a = a;
  out.b = b;
  out.round = round;
  out.gbps_ab = there;
  out.gbps_ba = back;
  return out;
}

std::string text(const Cluster& cluster, const std::vector<Measured>& measured,
                 bool is_found = false) {
  return fmt::format("{}", fmt::join(distance_lines(distances(cluster, measured), is_found), "\n"));
}

const Cluster two_racks{{"n0", "n1", "n2", "n3"}, {{"r0"}, {"r0"}, {"r1"}, {"r1"}}, {}};

TEST(Distances, AreThoseInsideAndBetweenRacks) {
  const Cluster three{{"n0", "n1", "n2", "n3"}, {{"r0"}, {"r0"}, {"r1"}, {"r2"}}, {}};
  EXPECT_EQ(text(three, {pair(0, 1, 0, 3.14, 14.2), pair(0, 2, 1, 0.038, 0.04),
                         pair(1, 3, 1, 0.0412, 0.042)}),
            "inside a rack  3.1 to 14 Gbps (1 pair)\n"
            "between racks  0.038 to 0.042 Gbps, median 0.041 (2 pairs, 2 at a time)");
}

TEST(Distances, OfTwoRacksTheCulpritIsNotKnown) {
  EXPECT_EQ(
      text(two_racks, {pair(0, 1, 0, 3, 14), pair(2, 3, 0, 10, 10), pair(0, 2, 1, 0.04, 0.04)}),
      "inside a rack  3.0 to 14 Gbps, median 10 (2 pairs, 2 at a time)\nbetween racks  0.040 Gbps "
      "(1 pair)\nwith only two racks toprun cannot tell which uplink is slow, or whether both are "
      "this slow by design");
}

TEST(Distances, OfTwoRacksWithAFindingNothingIsOpen) {
  EXPECT_EQ(text(two_racks, {pair(0, 1, 0, 3, 14), pair(0, 2, 1, 0.04, 0.04)}, true),
            "inside a rack  3.0 to 14 Gbps (1 pair)\nbetween racks  0.040 Gbps (1 pair)");
}

TEST(Distances, OfTwoRacksThatAreEquallyFastNothingIsOpen) {
  EXPECT_EQ(text(two_racks, {pair(0, 1, 0, 10, 10), pair(0, 2, 1, 9, 9)}),
            "inside a rack  10 Gbps (1 pair)\n"
            "between racks  9.0 Gbps (1 pair)");
}

TEST(Distances, WithoutPlacesThereIsOne) {
  EXPECT_EQ(text({{"a", "b"}, {}, {}}, {pair(0, 1, 0, 9.8, 9.4)}),
            "all pairs  9.4 to 9.8 Gbps (1 pair)");
}

TEST(Distances, RanksOfOneHostStandForThemselves) {
  EXPECT_EQ(text({{"a rank 0", "a rank 1", "b rank 2"}, {{"r"}, {"r"}, {"r"}}, {}, {"a", "a", "b"}},
                 {pair(0, 1, 0, 40, 40), pair(1, 2, 1, 10, 10)}),
            "on one host    40 Gbps (1 pair)\n"
            "inside a rack  10 Gbps (1 pair)");
}

TEST(Distances, FurtherUpHaveTheirLevels) {
  const Cluster deep{
      {"a", "b", "c"}, {{"p0", "s0", "r0"}, {"p0", "s0", "r1"}, {"p1", "s0", "r0"}}, {}};
  EXPECT_EQ(text(deep, {pair(0, 1, 0, 10, 10), pair(0, 2, 1, 8, 8)}),
            fmt::format("{:<34}  10 Gbps (1 pair)\n", "between racks") +
                "between racks, 2 levels further up  8.0 Gbps (1 pair)");
}

TEST(Distances, OfGroupsThatSpeedTells) {
  const Cluster groups{{"a", "b", "c"}, {{"a"}, {"a"}, {"c"}}, {"group of"}};
  EXPECT_EQ(text(groups, {pair(0, 1, 0, 10, 10), pair(0, 2, 1, 8, 8)}),
            "inside a group  10 Gbps (1 pair)\n"
            "between groups  8.0 Gbps (1 pair)");
}

TEST(Distances, PairsWithoutAResultHaveNoFigures) {
  Measured hung = pair(0, 2, 0, 0, 0);
  hung.state = State::hung;
  EXPECT_EQ(text(two_racks, {hung}), "");
}

TEST(Distances, FiguresHaveTwoDigits) {
  const std::pair<double, std::string_view> rows[] = {
      {98.4, "98"},   {123.4, "123"},    {9.96, "10.0"}, {3.14, "3.1"},
      {0.38, "0.38"}, {0.0377, "0.038"}, {0, "0"},       {1e-9, "0.000000"}};
  for (const auto& [value, shown] : rows) EXPECT_EQ(figure_text(value), shown);
}

}  // namespace
}  // namespace toprun::pairs
