#include "machine/fabric/gid.h"

#include <gtest/gtest.h>

#include "machine/fabric/devices.h"
#include "machine/fabric/interfaces.h"
#include "machine/fabric/settings.h"

namespace toprun::fabric {
namespace {

constexpr auto v1 = GidType::v1;
constexpr auto v2 = GidType::v2;
constexpr auto hidden = GidType::unknown;

GidBytes bytes_of(const char* text) {
  return parse_gid(text).value();
}
const GidBytes local = bytes_of("fe80:0000:0000:0000:ee0d:9aff:fe2e:c1b6");
const GidBytes ipv4 = bytes_of("0000:0000:0000:0000:0000:ffff:0a01:0007");
const GidBytes other_ipv4 = bytes_of("0000:0000:0000:0000:0000:ffff:c0a8:0007");
const GidBytes apipa = bytes_of("0000:0000:0000:0000:0000:ffff:a9fe:0304");
const GidBytes ipv6 = bytes_of("fd00:0001:0000:0000:0000:0000:0000:0001");

TEST(Gid, IsEightGroupsOfFourDigits) {
  for (const char* text :
       {"", "fe80::1", "fe80:0000:0000:0000:ee0d:9aff:fe2e", "10.0.0.1",
        "fe80:0000:0000:0000:ee0d:9aff:fe2e:c1b6:0000", "fe80:0000:0000:0000:ee0d:9aff:fe2e:c1g6",
        "fe80:0000:0000:0000:ee0d:9aff:fe2e:1b6", "fe80:0000:0000:0000:ee0d:9aff:fe2e:-1b6"}) {
    EXPECT_FALSE(parse_gid(text)) << text;
  }
  EXPECT_EQ(interface_id(local), 0xee0d9afffe2ec1b6u);
  EXPECT_TRUE(is_zero(bytes_of("0000:0000:0000:0000:0000:0000:0000:0000")));
}

TEST(Gid, HasAScopeAndAnAddress) {
  EXPECT_EQ(scope_of(local), GidScope::link_local);
  EXPECT_EQ(scope_of(ipv4), GidScope::ipv4);
  EXPECT_EQ(scope_of(apipa), GidScope::ipv4_link_local);
  EXPECT_EQ(scope_of(ipv6), GidScope::ipv6);
  EXPECT_EQ(address_of(ipv4), "10.1.0.7");
  EXPECT_EQ(address_of(ipv6), "fd00:1::1");
}

TEST(Gid, ARangeHoldsItsAddresses) {
  const GidRange range{ipv4, 96 + 24};
  EXPECT_TRUE(range.contains(ipv4));
  EXPECT_FALSE(range.contains(other_ipv4));
  EXPECT_FALSE(range.contains(ipv6));
  EXPECT_EQ(range.text(), "10.1.0.7/24");
  EXPECT_TRUE((GidRange{{}, 0}).contains(ipv6));
}

// As NCCL's own loop goes through the table.
TEST(Gid, NcclTakesTheFirstIpv4EntryOfVersion2) {
  struct Case {
    std::vector<Gid> table;
    int expected;
    GidSearch search = {};
  };
  const Case cases[] = {
      {{}, 0},
      {{{0, local, v1, ""}}, 0},
      {{{0, local, v1, ""}, {1, local, v2, ""}, {2, ipv4, v1, ""}, {3, ipv4, v2, ""}}, 3},
      {{{0, local, v1, ""}, {3, ipv4, v2, ""}, {5, other_ipv4, v2, ""}}, 3},
      {{{0, local, v1, ""}, {2, ipv4, v1, ""}}, 2},
      {{{0, local, v1, ""}, {1, apipa, v2, ""}, {3, ipv4, v2, ""}}, 1},
      {{{0, local, v1, ""}, {2, ipv6, v2, ""}}, 0},
      {{{0, local, v1, ""}, {2, ipv6, v2, ""}}, 2, {.ipv6 = true}},
      {{{0, ipv4, v2, ""}, {1, other_ipv4, v2, ""}}, 0},
      {{{0, local, hidden, ""}, {4, ipv4, hidden, ""}, {9, other_ipv4, v2, ""}}, 9},
      {{{0, local, v1, ""}, {1, other_ipv4, v2, ""}, {3, ipv4, v2, ""}},
       3,
       {false, GidRange{ipv4, 96 + 16}}},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(nccl_gid_index(each.table, each.search), each.expected) << &each - cases;
  }
}

TEST(Devices, RatesHaveANumberAndASpeed) {
  EXPECT_EQ(parse_rate("400 Gb/sec (4X NDR)")->speed, "4X NDR");
  EXPECT_EQ(parse_rate("2.5 Gb/sec (1X SDR)")->gbps, 2.5);
  EXPECT_EQ(parse_rate("100 Gb/sec (4X)")->speed, "4X");
  for (const char* text : {"", "400", "fast Gb/sec", "400 Mb/sec", "-4 Gb/sec (4X)"}) {
    EXPECT_FALSE(parse_rate(text)) << text;
  }
}

TEST(Interfaces, TheDefaultRouteWithTheLowestMetric) {
  const std::string head = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n";
  EXPECT_EQ(default_interface_v4(head), std::nullopt);
  EXPECT_EQ(default_interface_v4(head + "eth0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\n"
                                        "eth1\t00000000\t0100000B\t0003\t0\t0\t50\t00000000\n"
                                        "eth2\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\n"),
            "eth1");
  const std::string zero(32, '0');
  EXPECT_EQ(
      default_interface_v6(zero + " 00 " + zero + " 00 " + zero +
                           " ffffffff 00000001 00000000 00200200 lo\n" + zero + " 00 " + zero +
                           " 00 " + zero + " 00000400 00000001 00000000 00450003 eth0\n"),
      "eth0");
}

// As NCCL reads it: setEnvFile() in src/misc/param.cc.
TEST(NcclConf, IsReadAsNcclReadsIt) {
  NodeFabric node;
  add_nccl_conf(node,
                "# NCCL_A=1\nNCCL_B=2\n\nno line\n NCCL_C = x\n=3\nNCCL_D= x y \n  # NCCL_E=1\n"
                "NCCL_B=7\n export NCCL_F=1\n",
                "f");
  add_nccl_conf(node, "NCCL_B=8\nNCCL_G=9", "g");  // the file of the machine: NCCL_B as meant
  std::string settings;
  for (const FileSetting& one : node.nccl_conf) settings += one.name + "=" + one.value + "|";
  EXPECT_EQ(settings, "NCCL_B=2|NCCL_D= x y |NCCL_G=9|");
  std::string faults;
  for (const ProfileSetting& line : node.unusable_files) {
    faults += line.name + ": " + line.value + "\n";
  }
  EXPECT_EQ(faults,
            "f:4: this line has no effect: it is not NAME=VALUE\n"
            "f:5: this line has no effect: for NCCL the blanks before = are a part of the name; "
            "write NAME=VALUE\n"
            "f:6: this line has no effect: it is not NAME=VALUE\n"
            "f:9: this line has no effect: a line above sets this name\n"
            "f:10: this line has no effect: for NCCL the blanks before = are a part of the name; "
            "write NAME=VALUE\n");
  EXPECT_TRUE((join(contradictions(node), "\n") + "\n").ends_with(faults));
}

TEST(NcclConf, IsBounded) {
  NodeFabric node;
  std::string text;
  for (int i = 0; i < 1'000; ++i) text += fmt::format("NCCL_{}=1\nnothing\n", i);
  add_nccl_conf(node, text, "f");
  EXPECT_EQ(node.nccl_conf.size(), 256u);
  EXPECT_EQ(node.unusable_files.size(), 16u);
}

}  // namespace
}  // namespace toprun::fabric
