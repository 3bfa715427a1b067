#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <random>

#include "base/os/os_testing.h"
#include "base/text/text.h"
#include "machine/fabric/settings.h"

namespace toprun::fabric {
namespace {

namespace fs = std::filesystem;

constexpr NcclVersion without_search{2, 20, 5}, newest{2, 30, 7};
using Version = std::optional<NcclVersion>;

const std::string link_local = "fe80:0000:0000:0000:0000:0000:0000:0001";
const std::string site_local = "fd00:0000:0000:0000:0000:0000:0000:0001";
const std::string ipv4_entry = "0000:0000:0000:0000:0000:ffff:0a01:0007";

// Whose types cannot be read. A kernel that shows an entry's address shows its type, unless it
// shows none at all; versions of NCCL that never fail at a hidden one are tested with any.
enum class Hidden : std::uint8_t { of_whole_tables, any };

// A machine with RoCE adapters whose tables have random entries.
class Machine {
 public:
  Machine(unsigned seed, Hidden hidden) : random_(seed), hidden_(hidden) {
    interface("eth0", any(8) != 0);
    interface("eth0.7", any(8) != 0, "DEVTYPE=vlan");
    fs::create_symlink("../eth0", path("sys/class/net/eth0.7/lower_eth0"));
    fs::create_directory(path("sys/class/net/eth0/device"));
    file("proc/net/route", "eth0 00000000 0100000A 0003 0 0 100 00000000 0 0 0");
    for (int i = 0; i < 2; ++i) adapter(i);
  }
  // Two adapters with these tables, all of RoCE v2 on their own interface.
  explicit Machine(const std::array<std::vector<std::string>, 2>& tables) {
    interface("eth0", true);
    for (int i = 0; i < 2; ++i) {
      const std::string port = begin_adapter(i, "4: ACTIVE", "Ethernet");
      file(port + "../../device/net/eth0/mtu", "1500");
      int index = 0;
      for (const std::string& gid : tables[static_cast<std::size_t>(i)]) {
        const std::string number = std::to_string(index++);
        file(port + "gids/" + number, gid);
        file(port + "gid_attrs/types/" + number, "RoCE v2");
        file(port + "gid_attrs/ndevs/" + number, "eth0");
      }
    }
  }
  Sysfs sysfs() const { return Sysfs(folder_.path()); }

 private:
  fs::path path(const std::string& name) const { return folder_.path() / name; }
  void file(const std::string& name, const std::string& text) const {
    fs::create_directories(path(name).parent_path());
    std::ofstream(path(name)) << text << "\n";
  }
  unsigned any(unsigned below) { return static_cast<unsigned>(random_() % below); }

  void interface(const std::string& name, bool is_up, const std::string& event = "INTERFACE=x") {
    const std::string folder = "sys/class/net/" + name + "/";
    for (const char* number : {"ifindex", "iflink"}) file(folder + number, "7");
    file(folder + "flags", is_up ? "0x1003" : "0x1002");
    file(folder + "operstate", "up");
    file(folder + "speed", "100000");
    file(folder + "uevent", event);
  }

  // Returns the folder of its port.
  std::string begin_adapter(int number, const char* state, const char* layer) const {
    const std::string port = fmt::format("sys/class/infiniband/mlx5_{}/ports/1/", number);
    file(port + "state", state);
    file(port + "rate", "400 Gb/sec (4X NDR)");
    file(port + "link_layer", layer);
    return port;
  }

  void adapter(int number) {
    const std::string port = begin_adapter(number, any(12) == 0 ? "1: DOWN" : "4: ACTIVE",
                                           any(8) == 0 ? "InfiniBand" : "Ethernet");
    if (any(5) != 0) file(port + "../../device/net/eth0/mtu", "1500");
    const Table table{port, any(4), any(3), any(6) == 0};
    for (int i = 0; i < 20; ++i) entry(table, i);
  }

  struct Table {
    std::string port;
    unsigned holes;  // of four entries
    unsigned kinds;  // 0: IPv6 alone, 1: IPv4 alone, 2: both
    bool is_without_types;
  };

  void entry(const Table& table, int index) {
    const std::array<std::string, 6> gids = {link_local,
                                             site_local,
                                             "0000:0000:0000:0000:0000:ffff:a9fe:0304",
                                             ipv4_entry,
                                             "0000:0000:0000:0000:0000:ffff:0a02:0007",
                                             "0000:0000:0000:0000:0000:ffff:c0a8:0007"};
    const std::string empty = "0000:0000:0000:0000:0000:0000:0000:0000";
    const std::string number = std::to_string(index);
    const bool is_empty = any(4) < table.holes;
    const std::array<unsigned, 3> chosen = {any(2), 2 + any(4), any(6)};
    file(table.port + "gids/" + number, is_empty ? empty : gids[chosen[table.kinds]]);
    const bool is_hidden =
        hidden_ == Hidden::any ? any(8) == 0 : is_empty || table.is_without_types;
    if (!is_hidden) {
      file(table.port + "gid_attrs/types/" + number, any(2) == 0 ? "RoCE v2" : "IB/RoCE v1");
    }
    const std::array<std::string, 4> carriers = {"eth0", "eth0.7", "gone", "eth0"};
    file(table.port + "gid_attrs/ndevs/" + number, carriers[any(4)]);
  }

  const TemporaryFolder folder_;
  std::mt19937 random_;
  const Hidden hidden_ = Hidden::any;
};

// All that a launch says and does.
std::string settings_reported(NodeFabric node, const Version& nccl) {
  node.nccl = nccl;
  std::string text = summary_of(node) + "\n" + why_no_rdma(node).value_or("RDMA") + "\n";
  for (const PortVerdict& verdict : node.choice.ports) {
    text += fmt::format("{} {}\n", verdict.is_chosen() ? verdict.gid.index.value_or(-1) : -2,
                        verdict.why_not);
  }
  for (const Setting& setting : decide(node)) {
    text += fmt::format("{}={} {}\n", setting.name, setting.value.value_or("left"), setting.reason);
  }
  return text + join(mistakes(node), "\n");
}

std::size_t entries_of(const NodeFabric& node) {
  std::size_t entries = 0;
  for (const Device& device : node.devices) entries += device.ports[0].gids.size();
  return entries;
}

// The user's NCCL_IB_GID_INDEX; empty: unset.
constexpr std::array<const char*, 6> named_entries = {"", "0", "9", "18", "99", "x"};

// How many of the machines needed fewer entries than there are.
int decides_as_with_all(Hidden hidden, unsigned machines, const std::vector<Version>& versions) {
  int fewer = 0;
  for (unsigned seed = 0; seed < machines && !::testing::Test::HasFailure(); ++seed) {
    const Machine machine(seed, hidden);
    for (const std::string named : named_entries) {
      Environment environment;
      if (!named.empty()) environment.set("NCCL_IB_GID_INDEX", named);
      const NodeFabric all = read_node(machine.sysfs(), environment);
      const NodeFabric needed = read_node_as_needed(machine.sysfs(), environment, {});
      if (named.empty() && entries_of(needed) < entries_of(all)) ++fewer;
      for (const Version& nccl : versions) {
        EXPECT_EQ(settings_reported(needed, nccl), settings_reported(all, nccl))
            << "seed " << seed << ", NCCL " << (nccl ? text_of(*nccl) : "unknown") << ", entry "
            << named;
      }
    }
  }
  return fewer;
}

TEST(AsNeeded, DecidesWhatAllEntriesDo) {
  const std::vector<Version> versions = {
      without_search, NcclVersion{2, 21, 0}, NcclVersion{2, 26, 1}, NcclVersion{2, 26, 2}, newest,
      Version()};
  EXPECT_GT(decides_as_with_all(Hidden::of_whole_tables, 48, versions), 20);
  EXPECT_GT(decides_as_with_all(Hidden::any, 24, {without_search, newest}), 10);
}

// NCCL_IB_ADDR_FAMILY=AF_INET6 would be right for the second one, and lead NCCL to an entry of the
// first one that is not read.
TEST(AsNeeded, AnotherAdapterNeedsAnotherFamily) {
  const Machine machine({{{ipv4_entry, link_local}, {link_local, site_local}}});
  const NodeFabric needed = read_node_as_needed(machine.sysfs(), {}, {});
  ASSERT_EQ(needed.devices[0].ports[0].gids.size(), 1u);
  EXPECT_EQ(settings_reported(needed, newest),
            settings_reported(read_node(machine.sysfs(), {}), newest));
}

}  // namespace
}  // namespace toprun::fabric
