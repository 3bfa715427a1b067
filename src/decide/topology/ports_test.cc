#include "decide/topology/ports.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/os/os_testing.h"
#include "decide/topology/topology_testing.h"

namespace toprun::topology {
namespace {

namespace fs = std::filesystem;

// A machine's /sys: devices whose only port has this link layer and this GID 0.
void add_device(const fs::path& root, const std::string& name, const std::string& layer,
                const std::string& gid) {
  const fs::path port = root / "sys/class/infiniband" / name / "ports/1";
  fs::create_directories(port / "gids");
  std::ofstream(port / "link_layer") << layer << "\n";
  std::ofstream(port / "gids/0") << gid << "\n";
}

TEST(Ports, AreReadFromTheKernel) {
  const TemporaryFolder folder;
  EXPECT_TRUE(read_ports(folder.path()).empty());
  add_device(folder.path(), "mlx5_ib10", "InfiniBand", "fe80:0000:0000:0000:0015:5dff:fd33:ff3a");
  add_device(folder.path(), "mlx5_ib2", "InfiniBand", "fe80:0000:0000:0000:0015:5dff:fd33:ff33");
  add_device(folder.path(), "mlx5_an0", "Ethernet", "fe80:0000:0000:0000:6245:bdff:fe12:3456");
  add_device(folder.path(), "mlx5_ib3", "InfiniBand", "0000:0000:0000:0000:0000:0000:0000:0000");
  add_device(folder.path(), "mlx5_ib4", "InfiniBand", "no gid");
  EXPECT_EQ(ports_text(read_ports(folder.path())),
            "mlx5_ib2/1 0x155dfffd33ff33\nmlx5_ib10/1 0x155dfffd33ff3a\n");
}

TEST(Ports, TravelAsText) {
  const std::vector<Port> ports = {{"mlx5_ib0", 1, 0x155dfffd33ff33}, {"mlx5_0", 2, ~0ull}};
  EXPECT_EQ(parse_ports(ports_text(ports)), ports);
  EXPECT_EQ(parse_ports(""), std::vector<Port>());
  for (const char* text :
       {"mlx5_ib0", "mlx5_ib0/1", "mlx5_ib0/1 155d", "mlx5_ib0/0 0x1", "mlx5_ib0/256 0x1", "/1 0x1",
        "--x/1 0x1", "a b/1 0x1", "a/1 0x", "a/1 0x0", "a/1 0x12345678901234567", "a/1 0x1 ",
        "a/x 0x1", "a;b/1 0x1"}) {
    EXPECT_FALSE(parse_ports(text)) << text;
  }
  std::string many;
  for (int i = 0; i < 65; ++i) many += fmt::format("mlx5_{}/1 {:#x}\n", i, i + 1);
  EXPECT_EQ(parse_ports(many).error().line(), "more than 64 InfiniBand ports");
}

// Four machines with two rails; rail 0 ends on leaves 1 and 2, rail 1 on leaves 3 and 4.
const std::vector<HostPorts> hosts_with_ports = {
    {"n0", {{"mlx5_ib0", 1, 0x10}, {"mlx5_ib1", 1, 0x11}}},
    {"n1", {{"mlx5_ib0", 1, 0x20}, {"mlx5_ib1", 1, 0x21}}},
    {"n2", {{"mlx5_ib0", 1, 0x30}, {"mlx5_ib1", 1, 0x31}}},
    {"n3", {{"mlx5_ib0", 1, 0x40}, {"mlx5_ib1", 1, 0x41}}}};

std::string parsed_ports(std::string_view text) {
  return text_with_warnings(parse_port_topology(text, "t", hosts_with_ports));
}

TEST(PortTopology, GroupsTheLeavesOfAHostsRails) {
  EXPECT_EQ(parsed_ports("# made by sharp\n"
                         "SwitchName=ibsw1 Nodes=0x10,0x30\n"
                         "SwitchName=ibsw2 Nodes=0x0000000000000020,0x40\n"
                         "SwitchName=ibsw3 Nodes=0x11,0x31\n"
                         "SwitchName=ibsw4 Nodes=0x21,0x41,0x99\n"
                         "SwitchName=ibsw5 Switches=ibsw1,ibsw2,ibsw3,ibsw4\n"),
            "spine leaf\n"
            "n0 ibsw5/ibsw[1,3] t:2\n"
            "n2 ibsw5/ibsw[1,3] t:2\n"
            "n1 ibsw5/ibsw[2,4] t:3\n"
            "n3 ibsw5/ibsw[2,4] t:3\n");
}

TEST(PortTopology, ReadsEveryShape) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"SwitchName=a Nodes=0x10,0x20\nSwitchName=b Nodes=0x31,0x40\nSwitchName=c Switches=a,b\n",
       "spine leaf\nn0 c/a t:1\nn1 c/a t:1\nn2 c/b t:2\nn3 c/b t:2\n"},
      // A switch may be above switches that come later in the file, and have its own ports.
      {"SwitchName=c Switches=a Nodes=0x40\nSwitchName=a Nodes=0x10,0x20,0x30\n",
       "spine leaf\nn3 a,c/c t:1\nn0 a,c/a t:2\nn1 a,c/a t:2\nn2 a,c/a t:2\n"},
      {"SwitchName=a Nodes=0x10,0x20,0x30\n",
       "leaf\nn0 a t:1\nn1 a t:1\nn2 a t:1\nnone of the InfiniBand ports of n3 is "
       "listed in t\n"},
      {"SwitchName=a Nodes=0x99\n", "\nnone of the InfiniBand ports of n[0-3] is listed in t\n"},
      {"", "\nnone of the InfiniBand ports of n[0-3] is listed in t\n"},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(parsed_ports(text), expected) << text;
}

TEST(PortTopology, RefusesWithThePlace) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"SwitchName=a Nodes=n0\n", "t:1:20: 'n0' is not a port's GUID"},
      {"SwitchName=a Nodes=0x10,\n", "t:1:25: '' is not a port's GUID"},
      {"SwitchName=a Nodes=0x10,0x1g\n", "t:1:25: '0x1g' is not a port's GUID"},
      {"SwitchName=a Nodes=0x10\nSwitchName=b Nodes=0x20,0x010\n",
       "t:2:25: port 0x010 appears twice, first below a"},
      {"SwitchName=a Nodes=0x10\nSwitchName=a Nodes=0x20\n",
       "t:2:12: switch a appears twice, first at t:1:1"},
      {"SwitchName=a Switches=b,c\nSwitchName=b Nodes=0x10\n",
       "t:1:25: switch a is above c, which no line defines"},
      {"Nodes=0x10\n", "t:1:1: the line does not name a switch"},
      {"SwitchName=a Nodes\n", "t:1:19: expected Key=value"},
  };
  for (const auto& [text, expected] : rows) {
    EXPECT_TRUE(parsed_ports(text).starts_with("error: " + expected)) << text << "\n"
                                                                      << parsed_ports(text);
  }
}

TEST(PortTopology, IsToldFromATopologyConf) {
  const std::vector<std::pair<std::string, bool>> rows = {
      {"SwitchName=a Nodes=0x155dfffd341acb,0x155dfffd341b0b\n", true},
      {"#\nSwitchName=c Switches=a\nSwitchName=a Nodes=0x1\r\n", true},
      {"SwitchName=a Nodes=n[0-3]\n", false},
      {"SwitchName=a Nodes=0xen1,0x2\n", false},
      {"SwitchName=a Switches=b\n", false},
      {"", false},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(names_ports(text), expected) << text;
}

}  // namespace
}  // namespace toprun::topology
