#include "decide/topology/torus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "decide/topology/topology_testing.h"

namespace toprun::topology {
namespace {

// Number of links between two places of a torus, including the wrap-around.
int distance(const Coordinates& a, const Coordinates& b, const Coordinates& dims) {
  int links = 0;
  for (std::size_t axis = 0; axis < a.size(); ++axis) {
    const int apart = std::abs(a[axis] - b[axis]);
    links += std::min(apart, dims[axis] - apart);
  }
  return links;
}

TEST(Torus, NeighboursInTheOrderAreOneLinkApart) {
  for (const Coordinates& dims : std::vector<Coordinates>{
           {4, 4, 4}, {3, 3, 3}, {3, 5, 2}, {8, 1, 1}, {2, 2, 5}, {5, 4, 6}, {1, 7, 2}}) {
    std::map<std::size_t, Coordinates> by_seat;
    for (std::uint16_t z = 0; z < dims[2]; ++z) {
      for (std::uint16_t y = 0; y < dims[1]; ++y) {
        for (std::uint16_t x = 0; x < dims[0]; ++x) {
          by_seat.emplace(torus_path("t", {x, y, z}).seat(), Coordinates{x, y, z});
        }
      }
    }
    ASSERT_EQ(by_seat.size(), std::size_t{dims[0]} * dims[1] * dims[2]);
    for (auto at = by_seat.begin(); std::next(at) != by_seat.end(); ++at) {
      EXPECT_EQ(distance(at->second, std::next(at)->second, dims), 1);
    }
    if (dims[2] % 2 == 0) {
      EXPECT_EQ(distance(by_seat.begin()->second, by_seat.rbegin()->second, dims), 1);
    }
  }
}

TEST(Torus, CountsXFirstAsSlurmDoes) {
  const Torus torus{
      "t0", {2, 2, 2}, {{{0, 0, 1}, {2, 2, 1}, {"a", "b", "c", "d"}, "f:1:1", "f:1"}}};
  EXPECT_EQ(text_of(map_of_toruses("f", {torus})),
            "torus plane row\na t0/z1/y0 f:1\nb t0/z1/y0 f:1\nc t0/z1/y1 f:1\nd t0/z1/y1 f:1\n");
}

TEST(Torus, RefusesWhatDoesNotFit) {
  const auto error = [](const TorusRegion& region) {
    const auto map = map_of_toruses("f", {Torus{"t0", {2, 2, 2}, {region}}});
    return map ? std::string() : map.error().line();
  };
  EXPECT_TRUE(
      error({{1, 0, 0}, {2, 1, 1}, {"a", "b"}, "f:1:1", ""})
          .starts_with(
              "f:1:1: a region of size 2x1x1 at 1x0x0 does not fit into torus t0 of size 2x2x2"));
  EXPECT_TRUE(
      error({{}, {2, 1, 1}, {"a"}, "f:1:1", ""})
          .starts_with("f:1:1: the region has 1 nodes, but its size 2x1x1 has 2 positions"));
  EXPECT_TRUE(error({{}, {2, 1, 1}, {"a", "a"}, "f:1:1", ""}).contains("host a appears twice"));
}

TEST(Ring, KeepsTheListsOrder) {
  const auto map = map_of_rings("f", {Ring{"r0", {"n2", "n0", "n1"}, "f:1:1", "f:1"}});
  ASSERT_TRUE(map);
  EXPECT_EQ(text_of(*map), "ring\nn2 r0 f:1\nn0 r0 f:1\nn1 r0 f:1\n");
  EXPECT_LT(map->hosts[0].location.path.seat(), map->hosts[1].location.path.seat());
}

}  // namespace
}  // namespace toprun::topology
