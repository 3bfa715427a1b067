#include "fabric/as_needed.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "base/testing.h"

namespace toprun::fabric {
namespace {

namespace fs = std::filesystem;

constexpr NcclVersion newest{2, 30, 7};

// A machine with RoCE adapters whose tables have random entries.
class Machine {
 public:
  explicit Machine(unsigned seed) : random_(seed) {
    interface("eth0");
    interface("eth0.7", "DEVTYPE=vlan");
    fs::create_symlink("../eth0", path("sys/class/net/eth0.7/lower_eth0"));
    for (int i = 0; i < 2; ++i) adapter(i);
  }
  Sysfs sysfs() const { return Sysfs(folder_.path()); }

 private:
  fs::path path(const std::string& name) const { return folder_.path() / name; }
  void file(const std::string& name, const std::string& text) const {
    fs::create_directories(path(name).parent_path());
    std::ofstream(path(name)) << text << "\n";
  }
  unsigned any(unsigned below) { return static_cast<unsigned>(random_() % below); }

  void interface(const std::string& name, const std::string& event = "INTERFACE=x") {
    const std::string folder = "sys/class/net/" + name + "/";
    for (const char* number : {"ifindex", "iflink"}) file(folder + number, "7");
    file(folder + "flags", any(8) == 0 ? "0x1002" : "0x1003");
    file(folder + "operstate", "up");
    file(folder + "uevent", event);
  }

  void adapter(int number) {
    const std::string name = fmt::format("sys/class/infiniband/mlx5_{}/", number);
    if (any(5) != 0) file(name + "device/net/eth0/mtu", "1500");
    const std::string port = name + "ports/1/";
    file(port + "state", "4: ACTIVE");
    file(port + "rate", "400 Gb/sec (4X NDR)");
    file(port + "link_layer", any(8) == 0 ? "InfiniBand" : "Ethernet");
    const unsigned holes = any(4);
    for (int i = 0; i < 24; ++i) entry(port, i, any(4) < holes);
  }

  void entry(const std::string& port, int index, bool is_empty) {
    const std::array<std::string, 6> gids = {"fe80:0000:0000:0000:0000:0000:0000:0001",
                                             "fd00:0000:0000:0000:0000:0000:0000:0001",
                                             "0000:0000:0000:0000:0000:ffff:a9fe:0304",
                                             "0000:0000:0000:0000:0000:ffff:0a01:0007",
                                             "0000:0000:0000:0000:0000:ffff:0a02:0007",
                                             "0000:0000:0000:0000:0000:ffff:c0a8:0007"};
    const std::string empty = "0000:0000:0000:0000:0000:0000:0000:0000";
    const std::string number = std::to_string(index);
    file(port + "gids/" + number, is_empty ? empty : gids[any(6)]);
    if (any(8) != 0) {
      file(port + "gid_attrs/types/" + number, any(2) == 0 ? "RoCE v2" : "IB/RoCE v1");
    }
    const std::array<std::string, 4> carriers = {"eth0", "eth0.7", "gone", "eth0"};
    file(port + "gid_attrs/ndevs/" + number, carriers[any(4)]);
  }

  const TemporaryFolder folder_;
  std::mt19937 random_;
};

std::string told(NodeFabric node) {
  std::string text = summary_of(node) + "\n";
  for (const PortVerdict& verdict : node.choice.ports) {
    text += fmt::format("{} {} {}\n", verdict.gid.index.value_or(-1), verdict.gid.nccl_index,
                        verdict.why_not);
  }
  for (const Setting& setting : decide(node)) {
    text += fmt::format("{}={} {}\n", setting.name, setting.value.value_or("left"), setting.reason);
  }
  return text;
}

TEST(AsNeeded, DecidesWhatWholeTablesDo) {
  std::size_t fewer = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    const Machine machine(seed);
    NodeFabric whole = read_node(machine.sysfs(), {});
    whole.nccl = newest;
    NodeFabric needed = read_node_as_needed(machine.sysfs(), {}, {}, newest);
    for (std::size_t i = 0; i < whole.devices.size(); ++i) {
      const auto read = needed.devices[i].ports[0].gids.size();
      if (read < whole.devices[i].ports[0].gids.size()) ++fewer;
    }
    ASSERT_EQ(told(std::move(needed)), told(std::move(whole))) << seed;
  }
  EXPECT_GT(fewer, 50u);
}

TEST(AsNeeded, AnEntryThatTheUserNamesIsLookedUp) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Machine machine(seed);
    Environment environment;
    environment.set("NCCL_IB_GID_INDEX", "20");
    NodeFabric whole = read_node(machine.sysfs(), environment);
    const NodeFabric needed = read_node_as_needed(machine.sysfs(), environment, {}, newest);
    EXPECT_EQ(mistakes(needed), mistakes(whole)) << seed;
  }
}

TEST(AsNeeded, OldAndUnknownVersionsNeedWholeTables) {
  const Machine machine(1);
  const auto whole = read_node(machine.sysfs(), {}).devices[0].ports[0].gids.size();
  for (const std::optional<NcclVersion> nccl : {std::optional(NcclVersion{2, 25, 1}), {}}) {
    const NodeFabric node = read_node_as_needed(machine.sysfs(), {}, {}, nccl);
    EXPECT_EQ(node.devices[0].ports[0].gids.size(), whole);
    EXPECT_EQ(node.nccl, nccl);
  }
}

}  // namespace
}  // namespace toprun::fabric
