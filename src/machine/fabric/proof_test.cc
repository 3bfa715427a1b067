#include "machine/fabric/proof.h"

#include <gtest/gtest.h>

namespace toprun::fabric {
namespace {

constexpr std::uint64_t gigabyte = 1'000'000'000;

NcclLog log_of(const std::string& network, int channels, int direct) {
  NcclLog log;
  log.networks = {network};
  log.transports["NET/" + network] = {channels, direct, 0};
  return log;
}

NodeFabric node_with_two_ports() {
  NodeFabric node;
  for (const char* name : {"mlx5_0", "mlx5_1"}) {
    Port port;
    port.link_layer = LinkLayer::infiniband;
    port.state = PortState::active;
    port.rate_gbps = 400;
    Device device;
    device.name = name;
    device.ports = {port};
    node.devices.push_back(device);
  }
  node.choice = choose_ports(node.devices, node.interfaces);
  return node;
}

PortCounters sent(const char* name, std::uint64_t bytes,
                  std::map<std::string, std::uint64_t> errors = {}) {
  return {name, bytes, bytes, std::move(errors)};
}

std::string proof_reported(const std::vector<NetworkByHost>& nodes) {
  return fmt::format("{}", fmt::join(network_lines(nodes), "\n"));
}

TEST(Proof, RdmaWithGpuDirectIsOneLine) {
  const std::vector<NcclLog> logs(8, log_of("IB", 4, 4));
  const NetworkUse use = judge(logs, {}, node_with_two_ports());
  EXPECT_EQ(proof_reported({{"n0", use}, {"n1", use}}),
            "network: 16 ranks on 2 nodes communicated by IB with GPUDirect");
  EXPECT_EQ(proof_reported({}), "");
  EXPECT_EQ(proof_reported({{"n0", judge(std::vector<NcclLog>(8), {}, node_with_two_ports())}}),
            "");
}

TEST(Proof, SaysWhatIsWrongAndWhere) {
  const NodeFabric node = node_with_two_ports();
  NcclLog sockets = log_of("Socket", 2, 0);
  sockets.complaints = {{Cause::verbs, "NET/IB : No device found."}};
  const NetworkUse slow = judge(std::vector{sockets}, {}, node);
  const NetworkUse good = judge(std::vector{log_of("IB", 2, 2)}, {}, node);
  EXPECT_EQ(
      proof_reported({{"n0", good}, {"n2", slow}, {"n1", slow}}),
      "network: 3 ranks on 3 nodes communicated by IB, Socket, partly with GPUDirect\n"
      "warning: n[1-2]: NCCL used plain sockets in addition to 2 InfiniBand ports of 400 Gb/s\n"
      "warning: n[1-2]: NCCL said: NET/IB : No device found.");
  EXPECT_EQ(proof_reported({{"n0", judge(std::vector{log_of("IB", 4, 2)}, {}, node)}}),
            "network: 1 rank on 1 node communicated by IB\n"
            "warning: n0: 1 of 1 rank communicated without GPUDirect RDMA, which gives about half "
            "of the bandwidth (run `toprun doctor` on this node)");
}

TEST(Proof, DifferentVersionsAreALine) {
  const auto use_of = [](std::vector<NcclVersion> versions) {
    std::vector<NcclLog> logs;
    for (const NcclVersion& version : versions) {
      logs.push_back(log_of("IB", 2, 2));
      logs.back().version = version;
    }
    return judge(logs, {}, node_with_two_ports());
  };
  const NetworkUse usual = use_of({{2, 27, 3}, {2, 27, 3}});
  EXPECT_EQ(proof_reported({{"n0", usual}, {"n1", usual}}),
            "network: 4 ranks on 2 nodes communicated by IB with GPUDirect");
  EXPECT_EQ(proof_reported({{"n0", usual}, {"n2", usual}, {"n1", use_of({{2, 21, 5}})}}),
            "network: 5 ranks on 3 nodes communicated by IB with GPUDirect\n"
            "warning: ranks used different versions of NCCL: 2.21.5 on n1, 2.27.3 on n[0,2]; "
            "install the same version on all nodes, or use one image");
}

TEST(Proof, CountersTellOfIdlePortsAndErrors) {
  const NodeFabric node = node_with_two_ports();
  const std::vector<NcclLog> logs = {log_of("IB", 2, 2)};
  const std::vector<PortCounters> uneven = {sent("mlx5_0:1", 40 * gigabyte),
                                            sent("mlx5_1:1", gigabyte, {{"link_downed", 2}})};
  EXPECT_EQ(judge(logs, uneven, node).troubles,
            (std::vector<std::string>{"mlx5_1:1 sent 1000 MB, but the busiest port sent 40000 MB",
                                      "link_downed of mlx5_1:1 grew by 2"}));
  const std::vector<PortCounters> little = {sent("mlx5_0:1", 1'000'000), sent("mlx5_1:1", 0)};
  EXPECT_TRUE(judge(logs, little, node).troubles.empty());
}

TEST(Counters, GrowFromWhatTheyWere) {
  const std::vector<PortCounters> before = {sent("a:1", 100, {{"symbol_error", 3}}),
                                            sent("b:1", 500)};
  const std::vector<PortCounters> after = {sent("a:1", 150, {{"symbol_error", 4}, {"new", 1}}),
                                           sent("b:1", 20), sent("c:1", 7)};
  const auto change = growth(before, after);
  ASSERT_EQ(change.size(), 2u);
  EXPECT_EQ(change[0].sent_bytes, 50u);
  EXPECT_EQ(change[0].errors, (std::map<std::string, std::uint64_t>{{"symbol_error", 1}}));
  EXPECT_EQ(change[1].sent_bytes, 0u);  // it was reset
}

}  // namespace
}  // namespace toprun::fabric
