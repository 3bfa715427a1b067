#include "cli/benchmark/rate.h"

#include <gtest/gtest.h>

namespace toprun::benchmark {
namespace {

using fabric::Interface;
using fabric::InterfaceKind;

std::vector<Interface> interfaces() {
  std::vector<Interface> all(5);
  all[0].name = "bond0";
  all[0].kind = InterfaceKind::bond;
  all[0].speed_mbps = 200'000;
  all[1].name = "bond0.7";
  all[1].kind = InterfaceKind::vlan;
  all[1].below = {"bond0"};
  all[2].name = "eth0";
  all[2].kind = InterfaceKind::physical;
  all[2].speed_mbps = 25'000;
  all[3].name = "veth1";
  all[3].kind = InterfaceKind::veth;
  all[3].speed_mbps = 10'000;  // what the kernel says of any
  all[4].name = "ens1";
  all[4].kind = InterfaceKind::physical;
  return all;
}

std::vector<fabric::Device> adapters(std::size_t count) {
  std::vector<fabric::Device> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    all[i].name = "mlx5_" + std::to_string(i);
    fabric::Port& port = all[i].ports.emplace_back();
    port.link_layer = fabric::LinkLayer::infiniband;
    port.state = fabric::PortState::active;
    port.rate_gbps = 400;
    port.lid = 1;
  }
  return all;
}

TEST(LineGbps, OfSocketsIsThatOfTheHardwareBelow) {
  const struct {
    const char* interface;
    double gbps;
  } rows[] = {{"eth0", 25}, {"bond0", 200}, {"bond0.7", 200},
              {"veth1", 0}, {"ens1", 0},    {"absent", 0}};
  for (const auto& row : rows) {
    EXPECT_EQ(line_gbps({"tcp", "gloo"}, adapters(8), interfaces(), row.interface).value_or(0),
              row.gbps)
        << row.interface;
  }
}

TEST(LineGbps, OfNcclIsThatOfItsAdapters) {
  EXPECT_EQ(line_gbps({"nccl"}, adapters(8), interfaces(), "eth0"), 3200);
  EXPECT_EQ(line_gbps({"nccl"}, {}, interfaces(), "eth0"), std::nullopt);
  EXPECT_EQ(line_gbps({"tcp", "nccl"}, adapters(8), interfaces(), "eth0"), std::nullopt);
}

}  // namespace
}  // namespace toprun::benchmark
