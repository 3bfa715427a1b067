#include "decide/topology/dragonfly.h"

#include <gtest/gtest.h>

namespace toprun::topology {
namespace {

// `groups` groups with a cable between each two. In each group, `size` switches are all cabled to
// each other.
std::vector<FabricSwitch> dragonfly(std::size_t groups, std::size_t size) {
  std::vector<FabricSwitch> switches;
  std::vector<std::size_t> next(groups);
  for (std::size_t i = 0; i < groups * size; ++i) {
    switches.push_back({fmt::format("r{}", i), {}});
    for (std::size_t k = i + 1; k < (i / size + 1) * size; ++k) switches[i].peers.push_back(k);
  }
  for (std::size_t a = 0; a < groups; ++a) {
    for (std::size_t b = a + 1; b < groups; ++b) {
      const std::size_t from = a * size + next[a]++ % size;
      switches[from].peers.push_back(b * size + next[b]++ % size);
    }
  }
  return switches;
}

TEST(Dragonfly, FindsItsGroups) {
  for (const auto& [groups, size] : std::vector<std::pair<std::size_t, std::size_t>>{
           {2, 4}, {9, 4}, {17, 16}, {5, 8}, {33, 32}}) {
    const auto found = dragonfly_groups(dragonfly(groups, size));
    ASSERT_EQ(found.size(), groups * size);
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], i / size);
  }
}

TEST(Dragonfly, OthersAreNone) {
  std::vector<FabricSwitch> tree;  // four leaves below two spines
  for (int i = 0; i < 4; ++i) tree.push_back({fmt::format("l{}", i), {4, 5}});
  tree.push_back({"s0", {}});
  tree.push_back({"s1", {}});
  EXPECT_TRUE(dragonfly_groups(tree).empty());
  for (const std::size_t extent : {3u, 4u}) {
    std::vector<FabricSwitch> torus;
    for (std::size_t i = 0; i < extent * extent; ++i) {
      torus.push_back({fmt::format("t{}", i),
                       {i / extent * extent + (i + 1) % extent, (i + extent) % (extent * extent)}});
    }
    EXPECT_TRUE(dragonfly_groups(torus).empty()) << extent;
  }
  EXPECT_TRUE(dragonfly_groups(dragonfly(1, 8)).empty());
  EXPECT_TRUE(dragonfly_groups({}).empty());
  EXPECT_TRUE(dragonfly_groups({{"alone", {}}}).empty());
}

TEST(Dragonfly, ItsGroupsAreALevel) {
  const auto switches = dragonfly(3, 4);
  std::vector<FabricPort> ports;
  for (std::size_t i = 0; i < switches.size(); ++i) {
    ports.push_back({fmt::format("n{}", i), "hsn0", i + 1, 1, i, {}, "dump:1"});
  }
  const auto fabric = map_of_fabric("dump", switches, ports);
  ASSERT_TRUE(fabric) << fabric.error().line();
  EXPECT_EQ(fabric->map.levels, (std::vector<std::string>{"fabric", "group", "leaf"}));
  EXPECT_EQ(fabric->map.hosts[0].location.path.text(), "/r[0-11]/r[0-3]/r0/");
  EXPECT_EQ(fabric->map.hosts[11].location.path.text(), "/r[0-11]/r[8-11]/r11/");
}

}  // namespace
}  // namespace toprun::topology
