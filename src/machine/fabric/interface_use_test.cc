#include <gtest/gtest.h>

#include "machine/fabric/settings.h"

namespace toprun::fabric {
namespace {

Interface interface_called(const std::string& name, InterfaceKind kind = InterfaceKind::physical) {
  Interface interface;
  interface.name = name;
  interface.kind = kind;
  interface.is_up = true;
  return interface;
}

NodeFabric routed_by(const std::string& name) {
  NodeFabric node;
  if (!name.empty()) node.route = {name, "the default route"};
  return node;
}

TEST(InterfaceUse, SaysWhyOfEach) {
  const NodeFabric node = routed_by("eth0");
  const InterfaceUse used = use_of(node, interface_called("eth0"));
  EXPECT_EQ(used.is_used, true);
  EXPECT_EQ(used.why, "to reach the other nodes: the default route");

  const InterfaceUse other = use_of(node, interface_called("eth1"));
  EXPECT_EQ(other.is_used, false);
  EXPECT_EQ(other.why, "the default route is by eth0");

  EXPECT_EQ(use_of(node, interface_called("lo", InterfaceKind::loopback)).why,
            "the route leads to this host only");
  Interface leg = interface_called("ens1f0");
  leg.master = "bond0";
  EXPECT_EQ(use_of(node, leg).why, "it is a part of bond0");
  leg.is_up = false;
  EXPECT_EQ(use_of(node, leg).why, "it is down");
}

TEST(InterfaceUse, CannotTellWithoutAWay) {
  const InterfaceUse use = use_of(routed_by(""), interface_called("eth1"));
  EXPECT_EQ(use.is_used, std::nullopt);
  EXPECT_EQ(use.why, "there is no default route; use --to HOST to see the route to a host");
}

TEST(InterfaceUse, KnowsTheOneOfAnRdmaPort) {
  NodeFabric node = routed_by("eth0");
  Device device;
  device.name = "mlx5_0";
  device.interfaces = {"ens1np0"};
  device.ports.resize(1);
  device.ports.front().number = 1;
  node.devices = {device};
  node.choice.ports = {PortVerdict{}};
  EXPECT_EQ(use_of(node, interface_called("ens1np0")).is_used, true);
  EXPECT_EQ(use_of(node, interface_called("ens1np0")).why, "by RDMA port mlx5_0:1");
  node.choice.ports.front().why_not = "it is not active";
  EXPECT_EQ(use_of(node, interface_called("ens1np0")).is_used, false);
}

}  // namespace
}  // namespace toprun::fabric
