#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "decide/cost/traffic.h"

namespace toprun::cost {
namespace {

using Parents = std::vector<std::size_t>;

TEST(DoubleTree, Table) {
  struct Case {
    std::size_t count;
    Parents first, second;
    std::size_t depth, most_neighbours;
  };
  // Drawn by hand from the picture in NCCL's source.
  for (const auto& [count, first, second, depth, most] : std::vector<Case>{
           {0, {}, {}, 0, 0},
           {1, {0}, {0}, 0, 0},
           {2, {0, 0}, {1, 1}, 1, 2},
           {3, {0, 2, 0}, {1, 1, 0}, 2, 3},
           {4, {0, 2, 0, 2}, {1, 3, 1, 3}, 2, 4},
           {5, {0, 2, 4, 2, 0}, {1, 1, 3, 0, 3}, 3, 4},
           {8, {0, 2, 4, 2, 0, 6, 4, 6}, {1, 3, 1, 7, 5, 3, 5, 7}, 3, 4},
       }) {
    const DoubleTree trees(count);
    EXPECT_EQ(trees.parent[0], first) << count;
    EXPECT_EQ(trees.parent[1], second) << count;
    EXPECT_EQ(trees.depth, depth) << count;
    EXPECT_EQ(trees.most_neighbours, most) << count;
  }
}

TEST(DoubleTree, EveryPositionReachesTheRootAndHasAtMostTwoChildren) {
  for (std::size_t count = 1; count <= 300; ++count) {
    const DoubleTree trees(count);
    for (const Parents& parent : trees.parent) {
      std::vector<std::size_t> children(count);
      for (std::size_t i = 0; i < count; ++i) {
        std::size_t at = i, edges = 0;
        for (; parent[at] != at; at = parent[at]) ASSERT_LE(++edges, trees.depth) << count;
        if (parent[i] != i) ++children[parent[i]];
      }
      ASSERT_LE(std::ranges::max(children), 2u) << count;
    }
  }
}

// Counts over every group of positions, without the tested code.
TEST(DoubleTree, NoGroupOfPositionsIsLeftByFewerEdges) {
  for (std::size_t count = 1; count <= 12; ++count) {
    const DoubleTree trees(count);
    std::vector<std::size_t> fewest(count + 1, count);
    for (unsigned group = 0; group < 1u << count; ++group) {
      std::size_t edges = 0;
      for (std::size_t i = 0; i < count; ++i) {
        edges += (group >> i & 1) != (group >> trees.parent[0][i] & 1);
      }
      std::size_t& least = fewest[static_cast<std::size_t>(std::popcount(group))];
      least = std::min(least, edges);
    }
    for (std::size_t size = 0; size <= count; ++size) {
      EXPECT_LE(trees.fewest_leaving(size), fewest[size]) << size << " of " << count;
      if (fewest[size] < 2) {
        EXPECT_EQ(trees.fewest_leaving(size), fewest[size]) << size << " of " << count;
      }
    }
  }
}

}  // namespace
}  // namespace toprun::cost
