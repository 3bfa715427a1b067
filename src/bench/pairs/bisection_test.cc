#include "bench/pairs/bisection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>

namespace toprun::pairs {
namespace {

using Nodes = std::vector<std::size_t>;

// Runs the search; a group fails if it holds all nodes of one of the faults.
Bisection search(std::size_t count, const std::vector<Nodes>& faults) {
  Bisection bisection(count);
  while (const auto group = bisection.next()) {
    EXPECT_GE(group->size(), 2u);
    EXPECT_TRUE(std::ranges::is_sorted(*group));
    EXPECT_LT(group->back(), count);
    const bool failed = std::ranges::any_of(
        faults, [&](const Nodes& fault) { return std::ranges::includes(*group, fault); });
    bisection.tell(failed ? Outcome::hung : Outcome::passed);
  }
  EXPECT_LE(bisection.steps(), 2 * static_cast<std::size_t>(std::bit_width(count - 1)) + 4);
  return bisection;
}

void expect_found(std::size_t count, const Nodes& fault) {
  const Bisection bisection = search(count, {fault});
  const bool alone = fault.size() == 1 && count > 2;
  EXPECT_EQ(bisection.found().kind, alone ? Bisection::Kind::node : Bisection::Kind::pair)
      << count << " " << fault[0];
  if (count > 2) {
    EXPECT_EQ(bisection.found().nodes, fault);
  }
  EXPECT_TRUE(bisection.found().hung);
}

TEST(Bisection, FindsEachNodeAndEachPair) {
  for (const std::size_t count : {2u, 3u, 4u, 5u, 8u, 13u, 16u, 33u}) {
    for (std::size_t a = 0; a < count; ++a) {
      expect_found(count, {a});
      for (std::size_t b = a + 1; b < count; ++b) expect_found(count, {a, b});
    }
  }
}

TEST(Bisection, FindsThemAmongAThousand) {
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    const std::size_t a = random() % 999;
    expect_found(1000, {a});
    expect_found(1000, {a, a + 1 + random() % (999 - a)});
  }
}

TEST(Bisection, OtherEnds) {
  const struct {
    const char* about;
    std::size_t count;
    std::vector<Nodes> faults;
    Bisection::Kind kind;
    Nodes nodes;
  } rows[] = {
      {"healthy", 8, {}, Bisection::Kind::nothing, {}},
      {"it takes three", 8, {{1, 3, 6}}, Bisection::Kind::group, {0, 1, 2, 3, 6}},
      {"two bad nodes: one of them", 8, {{2}, {5}}, Bisection::Kind::node, {2}},
      {"the first two and another", 8, {{0}, {5}}, Bisection::Kind::pair, {0, 1}},
  };
  for (const auto& [about, count, faults, kind, nodes] : rows) {
    const Bisection bisection = search(count, faults);
    EXPECT_EQ(bisection.found().kind, kind) << about;
    EXPECT_EQ(bisection.found().nodes, nodes) << about;
  }
}

TEST(Bisection, NothingToTry) {
  for (const std::size_t count : {0u, 1u}) {
    Bisection bisection(count);
    EXPECT_FALSE(bisection.next());
    bisection.tell(Outcome::failed);
    EXPECT_EQ(bisection.steps(), 0u);
    EXPECT_EQ(bisection.found().kind, Bisection::Kind::nothing);
  }
}

TEST(Bisection, TellsAFailureFromAHang) {
  Bisection bisection(2);
  EXPECT_EQ(bisection.stage(), Bisection::Stage::everyone);
  bisection.tell(Outcome::failed);
  EXPECT_EQ(bisection.stage(), Bisection::Stage::done);
  EXPECT_EQ(bisection.found().nodes, (Nodes{0, 1}));
  EXPECT_FALSE(bisection.found().hung);
}

}  // namespace
}  // namespace toprun::pairs
