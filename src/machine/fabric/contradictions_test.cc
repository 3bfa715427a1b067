#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <map>

#include "machine/fabric/settings.h"

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
  // NCCL reads a number from the beginning.
  for (const char* value : {"", "true", "yes", "false", "0x0", "99999999999999999999"}) {
    off.environment.set("NCCL_IB_DISABLE", value);
    EXPECT_EQ(why_no_rdma(off), std::nullopt) << value;
    EXPECT_TRUE(mistakes(off).empty()) << value;
  }
  for (const std::string value : {"2", "0x1", "1 # sockets"}) {
    off.environment.set("NCCL_IB_DISABLE", value);
    EXPECT_EQ(why_no_rdma(off), "NCCL_IB_DISABLE=" + value + " (set by you)");
  }
  off.environment.unset("NCCL_IB_DISABLE");
  off.nccl_conf = {{"NCCL_NET", "socket", "/etc/nccl.conf"}};
  EXPECT_EQ(why_no_rdma(off), "NCCL_NET=socket (/etc/nccl.conf)");
}

// Two RoCE ports with entry 3, and one for storage.
NodeFabric roce_node() {
  NodeFabric node;
  for (const char* name : {"mlx5_0", "mlx5_1", "mlx5_10"}) {
    Port port;
    port.link_layer = LinkLayer::ethernet;
    port.state = PortState::active;
    port.rate_gbps = name == std::string("mlx5_10") ? 100 : 400;
    port.gids = {{0, *parse_gid("fe80:0000:0000:0000:0000:0000:0000:0001"), GidType::v1, ""},
                 {1, *parse_gid("fe80:0000:0000:0000:0000:0000:0000:0001"), GidType::v2, ""},
                 {2, *parse_gid("0000:0000:0000:0000:0000:ffff:0a01:0007"), GidType::v1, ""},
                 {3, *parse_gid("0000:0000:0000:0000:0000:ffff:0a01:0007"), GidType::v2, ""},
                 {5, *parse_gid("0000:0000:0000:0000:0000:ffff:0a01:0008"), GidType::v2, ""}};
    Device device;
    device.name = name;
    device.ports = {port};
    node.devices.push_back(device);
  }
  node.choice = choose_ports(node.devices, node.interfaces);
  return node;
}

TEST(Mistakes, Table) {
  const std::string storage =
      " (set by you) also selects mlx5_10:1: 100 Gb/s beside 400: for storage or management";
  const struct {
    const char *name, *value;
    std::string said;
  } rows[] = {
      {"NCCL_IB_GID_INDEX", "3", ""},
      {"NCCL_IB_GID_INDEX", "5", ""},   // another address of the same port may be meant
      {"NCCL_IB_GID_INDEX", "-1", ""},  // NCCL's own default
      {"NCCL_IB_GID_INDEX", "x", ""},
      {"NCCL_IB_GID_INDEX", "9",
       "NCCL_IB_GID_INDEX=9 (set by you): entry 9 of mlx5_0 is empty; entry 3 is right"},
      {"NCCL_IB_GID_INDEX", "1",
       "NCCL_IB_GID_INDEX=1 (set by you): entry 1 of mlx5_0 (fe80::1) is link-local; entry 3 is "
       "right"},
      {"NCCL_IB_GID_INDEX", "2",
       "NCCL_IB_GID_INDEX=2 (set by you): entry 2 of mlx5_0 (10.1.0.7) is RoCE v1; entry 3 is "
       "right"},
      {"NCCL_IB_HCA", "=mlx5_0,mlx5_1", ""},
      {"NCCL_IB_HCA", "=mlx5_0:1", ""},  // a part of them may be meant
      {"NCCL_IB_HCA", "^mlx5_10", ""},
      {"NCCL_IB_HCA", "mlx5", "NCCL_IB_HCA=mlx5" + storage},
      {"NCCL_IB_HCA", "mlx5_1", "NCCL_IB_HCA=mlx5_1" + storage},
      {"NCCL_IB_HCA", "^=mlx5_0", "NCCL_IB_HCA=^=mlx5_0" + storage},
      {"NCCL_IB_HCA", "=mlx5_7",
       "NCCL_IB_HCA==mlx5_7 (set by you): this machine has no RDMA device mlx5_7"},
      {"NCCL_IB_HCA", "mlx5_7:1,=mlx5_8",
       "NCCL_IB_HCA=mlx5_7:1,=mlx5_8 (set by you): this machine has no RDMA device mlx5_7\n"
       "NCCL_IB_HCA=mlx5_7:1,=mlx5_8 (set by you): this machine has no RDMA device =mlx5_8"},
      {"NCCL_IB_HCA", "=mlx5_0:2",
       "NCCL_IB_HCA==mlx5_0:2 (set by you): this machine has no RDMA port mlx5_0:2"},
      {"NCCL_IB_HCA", "\"mlx5\"",
       "NCCL_IB_HCA=\"mlx5\" (set by you): the quotes are part of the value"},
      {"NCCL_IB_HCA", "=mlx5_0:1:0:0,mlx5_1::0:1", ""},  // with rail and plane
      {"NCCL_IB_HCA", "=mlx5_0:2:0:0",
       "NCCL_IB_HCA==mlx5_0:2:0:0 (set by you): this machine has no RDMA port mlx5_0:2:0:0"},
      {"NCCL_IB_HCA", "=mlx5_0, mlx5_1",
       "NCCL_IB_HCA==mlx5_0, mlx5_1 (set by you): this machine has no RDMA device \" mlx5_1\": the "
       "blank is a part of the name"},
      {"NCCL_IB_HCA", "^mlx5", "NCCL_IB_HCA=^mlx5 (set by you): it leaves no active RDMA port"},
      {"NCCL_IB_HCA", "^=mlx5_0,mlx5_1,mlx5_10",
       "NCCL_IB_HCA=^=mlx5_0,mlx5_1,mlx5_10 (set by you): it leaves no active RDMA port"},
      {"NCCL_SOCKET_NTHREADS", "8", ""},
      {"NCCL_ALGO", "Ring, Tree",
       "NCCL_ALGO=Ring, Tree (set by you): NCCL's algorithms are Ring, Tree, CollnetChain, "
       "CollnetDirect, NVLS, NVLSTree and PAT; NCCL 2.24 and later fail with other values"},
      {"NCCL_ALGO", "ring,collnetdirect;allreduce:^tree,PAT;broadcast:ring", ""},
      {"NCCL_ALGO", "^NVLS", ""},
      {"NCCL_PROTO", "simple", ""},
      {"NCCL_PROTO", "LL12",
       "NCCL_PROTO=LL12 (set by you): NCCL's protocols are LL, LL128 and Simple; NCCL 2.24 and "
       "later fail with other values"},
      {"NCCL_PROTO", "", ""},
      {"NCCL_TIMEOUT", "5",
       "NCCL_TIMEOUT: NCCL does not have this variable; PyTorch's timeout is an argument: "
       "init_process_group(timeout=...)"},
      {"NCCL_SOCKET_NTREADS", "4",
       "NCCL_SOCKET_NTREADS: NCCL does not have this variable; did you mean NCCL_SOCKET_NTHREADS?"},
      {"NCCL_SOCKETS", "4", "NCCL_SOCKETS: NCCL does not have this variable"},
      {"NCCL_SOCKET_MAGIC", "0x12", ""},
  };
  for (const auto& [name, value, said] : rows) {
    NodeFabric node = roce_node();
    node.environment.set(name, value);
    EXPECT_EQ(fmt::format("{}", fmt::join(mistakes(node), "\n")), said) << name << "=" << value;
  }
}

TEST(Mistakes, ShowNoSecret) {
  for (const auto& [name, value] : {std::pair{"NCCL_PSK", "\"s3cret\""},
                                    {"NCCL_MY_TOKEN", "'hf_AbCdEfGhIjKlMnOpQrStUvWxYz01234567'"},
                                    {"NCCL_NET", "\"hf_AbCdEfGhIjKlMnOpQrStUvWxYz01234567\""}}) {
    NodeFabric node = roce_node();
    node.environment.set(name, value);
    const auto said = mistakes(node);
    ASSERT_EQ(said.size(), 1u) << name;
    EXPECT_EQ(said[0],
              fmt::format("{}=<secret> (set by you): the quotes are part of the value", name));
  }
}

TEST(Files, FaultsOfThoseThatSettingsName) {
  // What a user other than root sees.
  const std::map<std::string, std::pair<int, int>> seen = {
      {"/", {0, EACCES}},
      {"/etc", {0, EACCES}},
      {"/etc/topo.xml", {0, EACCES}},
      {"/etc/secret", {EACCES, EACCES}},
      {"/dev", {0, EACCES}},
      {"/dev/null", {0, 0}},
      {"/tmp", {0, 0}},
      {"/etc/own.log", {0, 0}},
      {"/nfs/a", {ETIMEDOUT, ETIMEDOUT}},
      {"/old/a", {ESTALE, ESTALE}},
  };
  const Look look = [&](const std::string& path, int mode) {
    const auto found = seen.find(path);
    if (found == seen.end()) return ENOENT;
    return mode == R_OK ? found->second.first : found->second.second;
  };
  const struct {
    const char* path;
    bool is_output;
    const char* fault;
  } rows[] = {
      {"", false, ""},
      {"topo.xml", false, ""},
      {"/etc/topo.xml", false, ""},
      {"/no/file", false, "this machine has no file /no/file"},
      {"/etc/secret", false, "/etc/secret cannot be read: Permission denied"},
      {"/nfs/a", false, "the file system of /nfs/a does not respond"},
      {"/old/a", false, "/old/a cannot be read: Stale file handle"},
      {"/dev/stderr", true, ""},
      {"/dev/stdout", true, ""},
      {"/dev/null", true, ""},
      {"/etc/own.log", true, ""},
      {"/etc/topo.xml", true, "/etc/topo.xml cannot be written: Permission denied"},
      {"/etc/new.log", true, "/etc cannot be written: Permission denied"},
      {"/new.log", true, "/ cannot be written: Permission denied"},
      {"/tmp/%h.log", true, ""},
      {"/tmp/new/%h.log", true, "this machine has no folder /tmp/new"},
      {"/nfs/a", true, "the file system of /nfs/a does not respond"},
      {"~/log", true, "this machine has no folder ~"},
  };
  for (const auto& [path, is_output, fault] : rows) {
    EXPECT_EQ(file_fault(path, is_output, look), fault) << path;
  }
}

TEST(WithoutEffect, Table) {
  const std::string levels =
      " (set by you): NCCL's levels are VERSION, WARN, INFO and TRACE; NCCL ignores other values";
  const std::string number =
      " (set by you): NCCL expects a number, and ignores this value; 1 disables IB";
  const std::string no_number =
      " (set by you): NCCL expects a number; by its version, it ignores this value or reads 0";
  const std::string p2p_levels =
      " (set by you): NCCL's levels are LOC, NVL, PIX, PXB, PHB and SYS; NCCL ignores other values";
  const struct {
    const char *name, *value;
    std::string said;
  } rows[] = {
      {"NCCL_DEBUG", "INFO", ""},
      {"NCCL_DEBUG", "warn", ""},
      {"NCCL_DEBUG", "Version", ""},
      {"NCCL_DEBUG", "TRACE", ""},
      {"NCCL_DEBUG", "NONE", ""},  // RCCL's
      {"NCCL_DEBUG", "", ""},
      {"NCCL_DEBUG", "debug", "NCCL_DEBUG=debug" + levels},
      {"NCCL_DEBUG", "1", "NCCL_DEBUG=1" + levels},
      {"NCCL_DEBUG", "INFO,WARN", "NCCL_DEBUG=INFO,WARN" + levels},
      {"NCCL_DEBUG", "\"INFO\"", ""},  // the quotes are a mistake
      {"NCCL_IB_DISABLE", "0", ""},
      {"NCCL_IB_DISABLE", "1", ""},
      {"NCCL_IB_DISABLE", "", ""},
      {"NCCL_IB_DISABLE", "False", ""},
      {"NCCL_IB_DISABLE", "true", "NCCL_IB_DISABLE=true" + number},
      {"NCCL_IB_DISABLE", "1 # sockets",
       "NCCL_IB_DISABLE=1 # sockets (set by you): NCCL expects a number, and reads this value as "
       "1"},
      {"NCCL_P2P_DISABLE", "yes",
       "NCCL_P2P_DISABLE=yes (set by you): NCCL expects a number, and ignores this value; 1 "
       "disables P2P"},
      {"NCCL_NSOCKS_PERTHREAD", "x", "NCCL_NSOCKS_PERTHREAD=x" + no_number},
      {"NCCL_NVLS_ENABLE", "true", "NCCL_NVLS_ENABLE=true" + no_number},
      {"NCCL_NVLS_ENABLE", "0x0", ""},
      {"NCCL_MIN_NCHANNELS", " 4 ", ""},
      {"NCCL_BUFFSIZE", "8M",
       "NCCL_BUFFSIZE=8M (set by you): NCCL expects a number, and reads this value as 8"},
      {"NCCL_SOCKET_NTHREADS", "99",
       "NCCL_SOCKET_NTHREADS=99 (set by you): NCCL's user guide allows 1 to 16"},
      {"NCCL_CROSS_NIC", "2", ""},
      {"NCCL_P2P_LEVEL", "nvl", "NCCL_P2P_LEVEL=nvl" + p2p_levels},
      {"NCCL_P2P_LEVEL", "NVL", ""},
      {"NCCL_P2P_LEVEL", "4", ""},
      {"NCCL_NET", "ib", ""},
      {"NCCL_NET", "ibb",
       "NCCL_NET=ibb (set by you): NCCL's own networks are IB and Socket; another name must be a "
       "plugin's, or NCCL fails"},
      {"NCCL_NET", "Sockets",
       "NCCL_NET=Sockets (set by you): NCCL's own networks are IB and Socket; another name must be "
       "a plugin's, or NCCL fails"},
      {"NCCL_NET", "AWS Libfabric", ""},
      {"NCCL_NET", "gIB", ""},
      {"NCCL_NET", "IBext_v8", ""},
      {"NCCL_SOCKET_FAMILY", "inet",
       "NCCL_SOCKET_FAMILY=inet (set by you): NCCL's families are AF_INET and AF_INET6; NCCL "
       "ignores other values"},
  };
  for (const auto& [name, value, said] : rows) {
    NodeFabric node = roce_node();
    node.environment.set(name, value);
    EXPECT_EQ(fmt::format("{}", fmt::join(without_effect(node), "\n")), said)
        << name << "=" << value;
  }
  NodeFabric node;
  node.nccl_conf = {{"NCCL_DEBUG", "verbose", "/etc/nccl.conf"}};
  ASSERT_EQ(without_effect(node).size(), 1u);
  EXPECT_TRUE(without_effect(node)[0].starts_with("NCCL_DEBUG=verbose (/etc/nccl.conf): "));
}

TEST(Mistakes, DevicesOfAMachineThatHasNone) {
  const struct {
    const char *name, *value;
    std::string said;
  } rows[] = {
      {"NCCL_IB_HCA", "mlx5_0,mlx5_1",
       "NCCL_IB_HCA=mlx5_0,mlx5_1 (set by you): this machine has no RDMA device"},
      {"NCCL_IB_HCA", "=mlx5_0:1",
       "NCCL_IB_HCA==mlx5_0:1 (set by you): this machine has no RDMA device"},
      {"NCCL_IB_HCA", "^mlx5_0", ""},
      {"NCCL_IB_HCA", "", ""},
      {"NCCL_IB_GID_INDEX", "3",
       "NCCL_IB_GID_INDEX=3 (set by you): this machine has no RDMA device"},
      {"NCCL_IB_GID_INDEX", "-1", ""},
      {"NCCL_IB_GID_INDEX", "x", ""},
  };
  for (const auto& [name, value, said] : rows) {
    NodeFabric node;
    node.environment.set(name, value);
    EXPECT_TRUE(mistakes(node).empty()) << "cannot tell: its devices could not be read";
    node.has_no_device = true;
    EXPECT_EQ(fmt::format("{}", fmt::join(mistakes(node), "\n")), said) << name << "=" << value;
    for (const auto& [other, off] : {std::pair{"NCCL_IB_DISABLE", "1"}, {"NCCL_NET", "Socket"}}) {
      NodeFabric without = node;
      without.environment.set(other, off);
      EXPECT_TRUE(mistakes(without).empty()) << other;
    }
    node.profile = find_profile("slingshot");
    EXPECT_TRUE(mistakes(node).empty()) << "its transport takes no heed of them";
  }
}

TEST(Mistakes, GloosInterfacesAreNamedInFull) {
  NodeFabric node;
  node.interfaces.resize(2);
  node.interfaces[0].name = "lo";
  node.interfaces[0].kind = InterfaceKind::loopback;
  node.interfaces[1].name = "eth10";
  for (const auto& [value, stranger] : {std::pair{"eth10,lo", ""},
                                        {"eth10", ""},
                                        {"", ""},
                                        {"eth1", "eth1"},
                                        {"=eth10", "=eth10"},
                                        {"^lo", "^lo"},
                                        {"lo,eth9", "eth9"}}) {
    node.environment.set("GLOO_SOCKET_IFNAME", value);
    const std::string said = fmt::format("{}", fmt::join(mistakes(node), "\n"));
    const std::string expected =
        *stranger == 0 ? ""
                       : fmt::format(
                             "GLOO_SOCKET_IFNAME={} (set by you): this machine has no "
                             "interface {}",
                             value, stranger);
    EXPECT_EQ(said, expected);
  }
}

TEST(Mistakes, ListsThatLeaveNoWayOut) {
  NodeFabric node;
  for (const char* name : {"lo", "eth0", "docker0", "tunl0"}) {
    Interface one;
    one.name = name;
    one.kind = name == std::string("lo") ? InterfaceKind::loopback : InterfaceKind::physical;
    one.is_up = name != std::string("tunl0");
    node.interfaces.push_back(one);
  }
  const struct {
    const char *value, *said;
  } rows[] = {
      {"^docker", ""},
      {"^lo", ""},
      {"^eth", ""},  // a bridge may lead to other nodes
      {"^eth,docker", "it leaves only lo, which reaches no other node"},
      {"^=eth0,docker0", "it leaves only lo, which reaches no other node"},
      {"^lo,eth,docker", "it leaves no interface"},
      {"lo", "it leaves only lo, which reaches no other node"},
      {"lo,eth0", ""},
      {" eth0", "this machine has no interface \" eth0\": the blank is a part of the name"},
      {"=^eth0", "this machine has no interface ^eth0"},
      {"", ""},
  };
  for (const auto& [value, said] : rows) {
    node.environment.set("NCCL_SOCKET_IFNAME", value);
    const std::string expected =
        *said == 0 ? "" : fmt::format("NCCL_SOCKET_IFNAME={} (set by you): {}", value, said);
    EXPECT_EQ(fmt::format("{}", fmt::join(mistakes(node), "\n")), expected);
  }
}

TEST(Mistakes, DevicesOfUcxThatTheMachineLacks) {
  NodeFabric node = roce_node();
  const auto said = [&](const char* value) {
    node.environment.set("UCX_NET_DEVICES", value);
    return fmt::format("{}", fmt::join(mistakes(node), "\n"));
  };
  EXPECT_EQ(said("eth9"), "");  // interfaces are unknown
  node.interfaces.resize(1);
  node.interfaces[0].name = "eth0";
  for (const char* value : {"", "all", "eth0", "mlx5_0:1,eth0", "mlx5_0", "^eth9", "mlx5_*:1",
                            "mlx5_[7-9]:1", "\"eth9\""}) {
    EXPECT_EQ(said(value), "") << value;
  }
  EXPECT_EQ(
      said("eth9,mlx5_7:1,mlx5_0:2"),
      "UCX_NET_DEVICES=eth9,mlx5_7:1,mlx5_0:2 (set by you): this machine has no interface eth9\n"
      "UCX_NET_DEVICES=eth9,mlx5_7:1,mlx5_0:2 (set by you): this machine has no RDMA device "
      "mlx5_7\n"
      "UCX_NET_DEVICES=eth9,mlx5_7:1,mlx5_0:2 (set by you): this machine has no RDMA port "
      "mlx5_0:2");
  EXPECT_NE(said("mlx5"), "");  // UCX takes whole names alone
  node.devices.clear();
  node.choice = {};
  EXPECT_EQ(said("mlx5_0:1"), "");  // devices are unknown
  node.has_no_device = true;
  EXPECT_EQ(said("mlx5_0:1"),
            "UCX_NET_DEVICES=mlx5_0:1 (set by you): this machine has no RDMA device mlx5_0");
}

TEST(Contradictions, AVariableIsNamedOnce) {
  NodeFabric node;
  node.interfaces.resize(2);
  node.interfaces[0].name = "lo";
  node.interfaces[1].name = "eth0";
  node.own_name_leads_astray = true;
  node.route.interface = "eth0";
  node.environment.set("GLOO_SOCKET_IFNAME", "eth9");
  EXPECT_EQ(fmt::format("{}", fmt::join(contradictions(node), "\n")),
            "GLOO_SOCKET_IFNAME=eth9 (set by you): this machine has no interface eth9");
  node.environment.set("GLOO_SOCKET_IFNAME", "lo");
  EXPECT_EQ(fmt::format("{}", fmt::join(contradictions(node), "\n")),
            "GLOO_SOCKET_IFNAME=lo (set by you): toprun would set eth0: the host's name resolves "
            "to none of its addresses on a network");
}

TEST(Mistakes, AFabricWithoutItsMarks) {
  NodeFabric node = roce_node();
  node.profile = find_profile("slingshot");
  EXPECT_TRUE(mistakes(node).empty());
  node.absent_mark = "/sys/class/cxi is not there";
  EXPECT_EQ(mistakes(node), std::vector<std::string>{
                                "--fabric slingshot: this machine does not look like HPE Slingshot "
                                "(cxi): /sys/class/cxi is not there"});
}

}  // namespace
}  // namespace toprun::fabric
