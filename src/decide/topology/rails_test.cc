#include "decide/topology/rails.h"

#include <gtest/gtest.h>

#include "decide/topology/match.h"
#include "decide/topology/topology_testing.h"

namespace toprun::topology {
namespace {

TEST(Rails, SpeedsAreReadByName) {
  const std::vector<std::pair<std::string, std::optional<double>>> rows = {
      {"4xNDR", 400}, {"4xHDR", 200},  {"2xHDR", 100}, {"4xEDR", 100},
      {"4xFDR", 56},  {"4xFDR10", 40}, {"4xXDR", 800}, {"1xSDR", 2.5},
      {"8xNDR", 800}, {"12xQDR", 120}, {"3xNDR", {}},  {"4xABC", {}},
      {"NDR", {}},    {"", {}},        {"-4xNDR", {}}, {"4294967300xNDR", {}},
  };
  for (const auto& [speed, gbps] : rows) EXPECT_EQ(gbps_of(speed), gbps) << speed;
}

// Two groups of four hosts with two rails each, on leaves 0 and 1 and on leaves 2 and 3; a spine
// joins them.
struct Net {
  std::vector<FabricSwitch> switches = {{"L0", {4}, {400}},
                                        {"L1", {4, 4}, {400, 400}},
                                        {"L2", {4}, {800}},
                                        {"L3", {4}, {800}},
                                        {"spine", {}, {}}};
  std::vector<FabricPort> ports;

  Net() {
    for (std::size_t host = 0; host < 8; ++host) {
      for (std::size_t rail = 0; rail < 2; ++rail) {
        ports.push_back({fmt::format("n{}", host), fmt::format("mlx5_{}", rail), 10 * host + rail,
                         1, host / 4 * 2 + rail, "4xNDR", "dump:1"});
      }
    }
  }
  Map map() const {
    auto fabric = map_of_fabric("dump", switches, ports);
    EXPECT_TRUE(fabric) << fabric.error().line();
    add_rail_facts(*fabric, std::vector<bool>(fabric->map.hosts.size(), true));
    return std::move(fabric->map);
  }
};

TEST(Rails, SumUpToLinks) {
  const Map map = Net().map();
  EXPECT_EQ(map.levels, (std::vector<std::string>{"spine", "leaf"}));
  EXPECT_EQ(map.links.at("host").gbps, 800);
  EXPECT_EQ(map.links.at("leaf").gbps, 1200);  // the group of L0 and L1 has the least
  EXPECT_FALSE(map.links.contains("spine"));   // no cable leads out of it
  EXPECT_TRUE(map.warnings.empty());
  EXPECT_TRUE(map.notes.empty());
}

TEST(Rails, LinksAreThoseOfTheJobsDomains) {
  Net net;
  net.switches.push_back({"management", {4}, {10}});
  net.ports.push_back({"m0", "mlx5_0", 99, 1, 5, "4xNDR", "dump:9"});
  const Map all = net.map();
  EXPECT_EQ(all.links.at("leaf").gbps, 10);
  EXPECT_EQ(restrict_to(all, {"n0", "n4"}).links.at("leaf").gbps, 1200);
  EXPECT_EQ(restrict_to(all, {"n4", "n5"}).links.at("leaf").gbps, 1600);
  EXPECT_EQ(restrict_to(all, {"m0", "n4"}).links.at("leaf").gbps, 10);
}

TEST(Rails, AnUnknownSpeedElsewhereHidesNoLink) {
  Net net;
  net.switches.push_back({"management", {4}});
  net.ports.push_back({"m0", "mlx5_0", 99, 1, 5, "4xNDR", "dump:9"});
  EXPECT_FALSE(net.map().links.contains("leaf"));
  EXPECT_EQ(restrict_to(net.map(), {"n0", "n4"}).links.at("leaf").gbps, 1200);
}

TEST(Rails, ThatAreNotToldMakeNoLink) {
  Net net;
  net.ports[3].speed = "";
  net.switches[0].gbps = {};
  EXPECT_TRUE(net.map().links.empty());
}

TEST(Rails, CrossedOnesAreNamed) {
  Net net;
  std::swap(net.ports[2].leaf, net.ports[3].leaf);  // n1's cables
  EXPECT_EQ(net.map().warnings,
            (std::vector<std::string>{
                "n1: mlx5_0 is on leaf L1, where the others of its group have mlx5_1; theirs is on "
                "L0 (3 of 4 hosts): the same local ranks meet on different rails",
                "n1: mlx5_1 is on leaf L0, where the others of its group have mlx5_0; theirs is on "
                "L1 (3 of 4 hosts): the same local ranks meet on different rails"}));
}

TEST(Rails, AHostOnTwoLeavesOfOneRailIsNamed) {
  Net net;
  net.ports[3].leaf = 0;  // both adapters of n1 on one rail
  EXPECT_EQ(net.map().warnings,
            std::vector<std::string>{
                "n1: mlx5_1 is on leaf L0, where the others of its group have mlx5_0; theirs is on "
                "L1 (3 of 4 hosts): the same local ranks meet on different rails"});
}

TEST(Rails, HostsWithFewerAreNoted) {
  Net net;
  net.ports.erase(net.ports.begin() + 3);
  const Map map = net.map();
  EXPECT_TRUE(map.warnings.empty());
  EXPECT_EQ(map.notes, std::vector<std::string>{
                           "fewer rails are up on n1 than the 2 that most hosts have in L[0-1]"});
  EXPECT_EQ(map.links.at("host").gbps, 800);
}

TEST(Rails, ManyOfOneKindAreCounted) {
  Net net;
  for (std::size_t host = 0; host < 2; ++host) {
    std::swap(net.ports[2 * host].leaf, net.ports[2 * host + 1].leaf);
    std::swap(net.ports[8 + 2 * host].leaf, net.ports[9 + 2 * host].leaf);
  }
  net.ports.push_back({"n8", "mlx5_0", 99, 1, 0, "4xNDR", "dump:1"});
  net.ports.push_back({"n8", "mlx5_1", 98, 1, 1, "4xNDR", "dump:1"});
  net.ports.push_back({"n9", "mlx5_0", 97, 1, 2, "4xNDR", "dump:1"});
  net.ports.push_back({"n9", "mlx5_1", 96, 1, 3, "4xNDR", "dump:1"});
  const Map map = net.map();
  ASSERT_EQ(map.warnings.size(), 5u);
  EXPECT_EQ(map.warnings.back(), "… 8 such adapters in all");
}

}  // namespace
}  // namespace toprun::topology
