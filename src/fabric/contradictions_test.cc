#include <gtest/gtest.h>

#include "fabric/settings.h"

namespace toprun::fabric {
namespace {

NodeFabric with_port(PortState state) {
  NodeFabric node;
  Port port;
  port.link_layer = LinkLayer::infiniband;
  port.state = state;
  port.rate_gbps = 400;
  Device device;
  device.name = "mlx5_0";
  device.ports = {port};
  node.devices = {device};
  node.choice = choose_ports(node.devices, node.interfaces);
  return node;
}

TEST(WhyNoRdma, NothingWhereNcclUsesIt) {
  EXPECT_EQ(why_no_rdma(with_port(PortState::active)), std::nullopt);
  NodeFabric efa;
  efa.profile = find_profile("aws-efa");
  EXPECT_EQ(why_no_rdma(efa), std::nullopt);
}

TEST(WhyNoRdma, NamesThePortOrTheSetting) {
  EXPECT_EQ(why_no_rdma({}), "it has no RDMA device");
  NodeFabric generic;
  generic.profile = find_profile("amd");
  EXPECT_EQ(why_no_rdma(generic), "it has no RDMA device");
  EXPECT_EQ(why_no_rdma(with_port(PortState::down)),
            "no RDMA port can be used: mlx5_0:1: the port is down");
  NodeFabric off = with_port(PortState::active);
  off.environment.set("NCCL_IB_DISABLE", "1");
  EXPECT_EQ(why_no_rdma(off), "NCCL_IB_DISABLE=1 (set by you)");
  off.environment.set("NCCL_IB_DISABLE", "0");
  EXPECT_EQ(why_no_rdma(off), std::nullopt);
  off.nccl_conf = {{"NCCL_NET", "socket", "/etc/nccl.conf"}};
  EXPECT_EQ(why_no_rdma(off), "NCCL_NET=socket (/etc/nccl.conf)");
}

}  // namespace
}  // namespace toprun::fabric
