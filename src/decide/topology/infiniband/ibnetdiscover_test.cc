#include "decide/topology/infiniband/ibnetdiscover.h"

#include <gtest/gtest.h>

#include <map>

#include "base/os/files.h"
#include "base/text/text.h"
#include "decide/topology/topology_testing.h"

namespace toprun::topology {
namespace {

// A fabric's dump, switch by switch, without Ca records: "n0 mlx5_0" is a host's adapter (on two
// switches: an adapter with two ports; text after "@" distinguishes adapters with one description),
// ">s0" is a cable to another switch.
using Switches = std::vector<std::pair<std::string, std::string>>;

class DumpOfSwitches {
 public:
  std::string text(const Switches& switches) {
    for (std::size_t i = 0; i < switches.size(); ++i) guid_of_[">" + switches[i].first] = i + 1;
    std::string dump;
    for (const auto& [name, ends] : switches) {
      dump += fmt::format(
          "switchguid=0x{0:x}({0:x})\nSwitch\t64 \"S-{0:016x}\"\t\t# \"MF0;{1}:X/U1\" "
          "enhanced port 0 lid 1 lmc 0\n",
          guid_of_[">" + name], name);
      int port = 0;
      for (const std::string_view end : split(ends, ',')) {
        dump += fmt::format("[{}]\t{}\n", ++port, this->end(std::string(trim(end)), name));
      }
      dump += '\n';
    }
    return dump;
  }

 private:
  std::string end(const std::string& end, const std::string& name) {
    if (end.starts_with('>')) {
      return fmt::format("\"S-{:016x}\"[{}]\t\t# \"MF0;{}:X/U1\" lid 2 4xNDR", guid_of_.at(end),
                         100 + guid_of_.at(">" + name), end.substr(1));
    }
    const std::size_t guid = guid_of_.emplace(end, 0x1000 + guid_of_.size()).first->second;
    return fmt::format("\"H-{0:016x}\"[{1}]({0:x}) \t\t# \"{2}\" lid 3 4xNDR", guid, ++ports_[guid],
                       end.substr(0, end.find('@')));
  }

  std::map<std::string, std::size_t> guid_of_;
  std::map<std::size_t, int> ports_;
};

Result<Fabric> parsed(const Switches& switches) {
  return parse_ibnetdiscover(DumpOfSwitches().text(switches), "t");
}

// The levels, then "host path" per host.
std::string places(const Switches& switches) {
  const auto fabric = parsed(switches);
  if (!fabric) return "error: " + fabric.error().line();
  std::string text = fmt::format("{}\n", fmt::join(fabric->map.levels, " "));
  for (const Map::Entry& entry : fabric->map.hosts) {
    text += entry.host;
    for (const auto& domain : entry.location.path) text += "/" + domain.value_or("?");
    text += ' ';
  }
  return text;
}

TEST(Ibnetdiscover, ReadsBothEndsOfACable) {
  const std::string_view dump =
      "#\n# Topology file: generated on Wed Aug  6 16:11:23 2025\n#\n\n"
      "vendid=0x2c9\ndevid=0xd2f2\nsysimgguid=0x2c5e\nswitchguid=0x2c5e(2c5e)\r\n"
      "Switch\t65 \"S-0000000000002c5e\"\t\t# \"MF0;A09:MQM9701/U1\" enhanced port 0 lid 73 lmc 0\n"
      "[1]\t\"H-000000000000e09d\"[1](e09d) \t\t# \"n0 mlx5_5\" lid 647 4xNDR s=4 w=2 v=4 e=4\r\n"
      "[2][ext 7]\t\"H-000000000000e09e\"[2](e09e) \t\t# \"n1\" lid 648 4xHDR\n"
      "[3]\t\"S-0000000000002c5e\"[4]\t\t# \"MF0;A09:MQM9701/U1\" lid 73 4xNDR\n\n"
      "Non-Chassis Nodes\n"
      "vendid=0x2c9\ncaguid=0xe09d\n"
      "Ca\t1 \"H-000000000000e09d\"\t\t# \"n0 mlx5_5\"\n"
      "[1](e09d) \t\"S-0000000000002c5e\"[1]\t\t# lid 647 lmc 0 \"MF0;A09:MQM9701/U1\" lid 73 "
      "4xNDR\n\n"
      "rtguid=0xaa\nRt\t1 \"R-00000000000000aa\"\t\t# \"a router # with \"odd\" signs\"\n"
      "[1](aa) \t\"S-0000000000002c5e\"[9]\t\t# lid 1 lmc 0 \"x\" lid 73 4xNDR\n";
  const auto fabric = parse_ibnetdiscover(dump, "t");
  ASSERT_TRUE(fabric) << fabric.error().line();
  EXPECT_EQ(text_of(fabric->map), "leaf\nn0 A09 t:17\nn1 A09 t:11\n");
  ASSERT_EQ(fabric->rails.size(), 2u);
  const Rail& rail = fabric->rails[0].at(0);
  EXPECT_EQ(rail.hca + " " + rail.leaf + " " + rail.speed, "mlx5_5 A09 4xNDR");
  EXPECT_EQ(fabric->rails[1].at(0).port, 2);
  EXPECT_EQ(fabric->map.warnings,
            std::vector<std::string>{"t:11: H-000000000000e09e has no record (nodes without a "
                                     "record: 1); is the dump complete?"});
}

TEST(Ibnetdiscover, FindsLevelsByDistanceToHosts) {
  const std::vector<std::pair<Switches, std::string>> rows = {
      // One leaf: switches above it do not matter.
      {{{"l0", "n0 mlx5_0, n1 mlx5_0, >s0"}, {"s0", ">l0"}}, "leaf\nn0/l0 n1/l0 "},
      {{{"l0", "n0 mlx5_0, >s0"}, {"l1", "n1 mlx5_0, >s0"}, {"s0", ">l0"}},
       "spine leaf\nn0/s0/l0 n1/s0/l1 "},
      // The first switch in the file is a leaf, spines come last; three tiers.
      {{{"l0", "n0 mlx5_0, >p0"},
        {"l1", "n1 mlx5_0, >p0"},
        {"l2", "n2 mlx5_0, >p1"},
        {"c0", ">p0, >p1"},
        {"p0", ">l0"},
        {"p1", ">l2"}},
       "core spine leaf\nn0/c0/p0/l0 n1/c0/p0/l1 n2/c0/p1/l2 "},
      // Switch names that do not match their levels.
      {{{"spine", "n0 mlx5_0, >leaf"}, {"core", "n1 mlx5_0, >leaf"}, {"leaf", ">core"}},
       "spine leaf\nn0/leaf/spine n1/leaf/core "},
      // Switches without hosts make no level: storage below p0, aggregation nodes.
      {{{"l0", "n0 mlx5_0, >p0"},
        {"l1", "n1 mlx5_0, >p0"},
        {"p0", ">l0"},
        {"st", ">p0, MT4129 ConnectX7   Mellanox Technologies"},
        {"ag", ">p0, Mellanox Technologies Aggregation Node"}},
       "spine leaf\nn0/p0/l0 n1/p0/l1 "},
      // A management port on the spine: the spine still joins the leaves.
      {{{"l0", "n0 mlx5_0, >p0"}, {"l1", "n1 mlx5_0, >p0"}, {"p0", "ufm mlx5_0"}},
       "spine leaf\nn0/l[0-1],p0/l0 n1/l[0-1],p0/l1 ufm/l[0-1],p0/p0 "},
      // Two leaves cabled to each other, no spine.
      {{{"l0", "n0 mlx5_0, >l1"}, {"l1", "n1 mlx5_0"}}, "spine leaf\nn0/l[0-1]/l0 n1/l[0-1]/l1 "},
      // A switch cabled to itself, and the same cable from both ends.
      {{{"l0", "n0 mlx5_0, >l0"}}, "leaf\nn0/l0 "},
  };
  for (const auto& [switches, expected] : rows) EXPECT_EQ(places(switches), expected);
}

TEST(Ibnetdiscover, SeveralRailsMakeOneGroupOfLeaves) {
  const std::vector<std::pair<Switches, std::string>> rows = {
      {{{"a0", "n0 mlx5_0, n1 mlx5_0"},
        {"a1", "n0 mlx5_1, n1 mlx5_1"},
        {"b0", "n2 mlx5_0, >a0"},
        {"b1", "n2 mlx5_1, >a1"}},
       "spine leaf\nn0/a[0-1],b[0-1]/a[0-1] n1/a[0-1],b[0-1]/a[0-1] n2/a[0-1],b[0-1]/b[0-1] "},
      // Inactive rails.
      {{{"a0", "n0 mlx5_0, n1 mlx5_0, n3 mlx5_0"}, {"a1", "n0 mlx5_1, n2 mlx5_1"}},
       "leaf\nn0/a[0-1] n1/a[0-1] n3/a[0-1] n2/a[0-1] "},
      // One adapter with two ports.
      {{{"a0", "n0 mlx5_0"}, {"a1", "n0 mlx5_0"}}, "leaf\nn0/a[0-1] "},
      // A management host on two leaves does not join them.
      {{{"a", "n0 mlx5_0, n1 mlx5_0, ufm mlx5_0, >s"},
        {"b", "n2 mlx5_0, n3 mlx5_0, ufm mlx5_1, >s"},
        {"s", ">a"}},
       "spine leaf\nn0/s/a n1/s/a ufm/s/a n2/s/b n3/s/b "},
      // The same with small leaves.
      {{{"a", "n0 mlx5_0, ufm mlx5_0, >s"}, {"b", "n1 mlx5_0, ufm mlx5_1, >s"}, {"s", ">a"}},
       "spine leaf\nn0/s/a ufm/s/a n1/s/b "},
      {{{"a", "n0 mlx5_0, n1 mlx5_0, m0 mlx5_0, m1 mlx5_0, >s"},
        {"b", "n2 mlx5_0, n3 mlx5_0, m0 mlx5_1, m1 mlx5_1, >s"},
        {"s", ">a"}},
       "spine leaf\nn0/s/a n1/s/a m0/s/a m1/s/a n2/s/b n3/s/b "},
      // A storage rail that all racks share does not join them either.
      {{{"a", "n0 mlx5_0, n1 mlx5_0, >s"},
        {"b", "n2 mlx5_0, n3 mlx5_0, >s"},
        {"st", "n0 mlx5_4, n1 mlx5_4, n2 mlx5_4, n3 mlx5_4, oss mlx5_0"},
        {"s", ">a, >st"}},
       "spine leaf\nn0/s/a n1/s/a n2/s/b n3/s/b oss/s/st "},
      // Names that differ in a number in the middle; names without a common part.
      {{{"r01-x", "n0 mlx5_0"}, {"r02-x", "n0 mlx5_1"}}, "leaf\nn0/r[01-02]-x "},
      {{{"red", "n0 mlx5_0"}, {"blue", "n0 mlx5_1"}}, "leaf\nn0/blue,red "},
  };
  for (const auto& [switches, expected] : rows) EXPECT_EQ(places(switches), expected);
}

TEST(Ibnetdiscover, SaysWhatItLeavesOut) {
  const std::vector<std::pair<Switches, std::string>> rows = {
      {{{"l0", "n0 mlx5_0, MT4129 ConnectX7   Mellanox Technologies"}},
       "t:4: adapter H-0000000000001002 says \"MT4129 ConnectX7   Mellanox Technologies\", which "
       "does not name a host"},
      {{{"l0", "n0 mlx5_0"}, {"l1", "n1 mlx5_0"}},
       "t: the fabric has 2 parts without a cable between them: l0, l1"},
      // The same host and adapter twice, under two GUIDs and on two leaves of one rail.
      {{{"l0", "n0 mlx5_0, localhost mlx5_0, >l1"}, {"l1", "localhost mlx5_0@2"}},
       "t:4 and t:9 both contain localhost mlx5_0: several machines have this name"},
      {{{"a", "n0 mlx5_0, n1 mlx5_0, n2 mlx5_1, >b"}, {"b", "n2 mlx5_0, n3 mlx5_0, n4 mlx5_0"}},
       "t:10: the rails of n2 end in 2 groups of leaves, so it is counted as one of b's hosts"},
      {{{"a", "n0 mlx5_0, >st"}, {"b", "n2 mlx5_0, >st"}, {"st", "n0 mlx5_4, n2 mlx5_4"}},
       "t: st connects hosts that are apart on another rail, as switches for storage do, so toprun "
       "does not count these hosts as neighbours"},
  };
  for (const auto& [switches, expected] : rows) {
    const auto fabric = parsed(switches);
    ASSERT_TRUE(fabric) << fabric.error().line();
    EXPECT_NE(std::ranges::find(fabric->map.warnings, expected), fabric->map.warnings.end())
        << expected << "\n"
        << fmt::format("{}", fmt::join(fabric->map.warnings, "\n"));
  }
  const auto keys =
      parse_ibnetdiscover("colour=red\n" + DumpOfSwitches().text({{"l0", "n0 mlx5_0"}}), "t");
  ASSERT_TRUE(keys);
  EXPECT_EQ(keys->map.warnings.back(), "t:1: unknown key colour");
}

TEST(Ibnetdiscover, NamesSwitchesApart) {
  const auto names = [](std::string_view first, std::string_view second) {
    const auto fabric = parse_ibnetdiscover(
        fmt::format(
            "Switch 4 \"S-0a\" # \"{}\"\n[1] \"H-01\"[1] # \"n0 d0\"\n[2] \"H-03\"[1] # \"n2 d0\"\n"
            "Switch 4 \"S-0b\" # \"{}\"\n[1] \"H-02\"[1] # \"n1 d0\"\n",
            first, second),
        "t");
    return *fabric->map.hosts[0].location.path.back() + " " +
           *fabric->map.hosts[2].location.path.back();
  };
  EXPECT_EQ(names("MF0;a:X/U1", "MF0;b:X/U1"), "a b");
  EXPECT_EQ(names("MF0;core:CS7500/L01/U1", "MF0;core:CS7500/L02/U1"), "core-L01-U1 core-L02-U1");
  EXPECT_EQ(names("Infiniscale-IV Mellanox Technologies", "Infiniscale-IV Mellanox Technologies"),
            "S-0a S-0b");
  EXPECT_EQ(names("Quantum [rack, 3]", ""), "Quantum--rack--3- S-0b");
}

std::string prose(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i) text += fmt::format("line {} of a poem\n", i);
  return text;
}

TEST(Ibnetdiscover, SkipsWhatATerminalPutBetween) {
  const auto fabric = parse_ibnetdiscover(
      "[root@mgmt ~]# ibnetdiscover\nibwarn: [7] mad_rpc: failed (errno = 5)\n"
      "switchguid=0xa(a)\nSwitch65 \"S-0a\"# \"l0\" base port 0 lid 1 lmc 0\n"
      "[1]\"H-0b\"[1](b) # \"n0 mlx5_0\" lid 3 4xNDR\n[17.3] a kernel's line\n"
      "[2]     \"H-0c\"[1](c)         # \"n1 mlx5_0\" lid 4 4xNDR\n[root@mgmt ~]# \n",
      "t");
  ASSERT_TRUE(fabric) << fabric.error().line();
  EXPECT_EQ(text_of(fabric->map), "leaf\nn0 l0 t:5\nn1 l0 t:7\n");
  EXPECT_EQ(
      fabric->map.warnings.back(),
      "t:1: '[root@mgmt ~]# ibnetdiscover' is skipped: it is not a line of a record or a port "
      "(4 such lines)");
}

// -g lists a chassis' switches as spines and leaves, and again as switches.
TEST(Ibnetdiscover, ReadsGroupedOutput) {
  const std::string chip =
      "\nvendid=0x2c9\nsysimgguid=0x1\t\t# Chassis 1\nswitchguid=0xa(a)\t# ISR9096 spine 1\n"
      "Switch\t24 \"S-0a\"\t\t# \"core\" base port 0 lid 1 lmc 0\n"
      "[1][ext 7]\t\"S-0d\"[9]\t\t# \"l0\" lid 2 4xNDR\n";
  const auto fabric = parse_ibnetdiscover(
      "\nChassis 1 (guid 0x1)\nHostname: x\n\n# Spine Nodes" + chip + "\n# Chassis Switches" +
          chip +
          "\nNon-Chassis Nodes\n\nswitchguid=0xd(d)\t# \nSwitch\t24 \"S-0d\"\t\t# \"l0\"\n"
          "[1]\t\"H-0b\"[1](b) \t\t# \"n0 mlx5_0\" lid 3 4xNDR\n"
          "[9]\t\"S-0a\"[1][ext 7]\t\t# \"core\" lid 1 4xNDR\n",
      "t");
  ASSERT_TRUE(fabric) << fabric.error().line();
  EXPECT_EQ(text_of(fabric->map), "leaf\nn0 l0 t:23\n");
}

TEST(Ibnetdiscover, ReadsThePortsReport) {
  const std::string_view report =
      "SW    73  2 0x2c5e 4x SDR                                    'MF0;l0:X/U1'\n"
      "SW    73  1 0x2c5e 4x NDR - CA   647  1 0xe09d ( 'MF0;l0:X/U1' - 'n0 mlx5_0' )\n"
      "SW    73  9 0x2c5e 4x NDR - SW    75  1 0x2c60 ( 'MF0;l0:X/U1' - 'MF0;s0:X/U1' )\n"
      "CA   647  1 0xe09d 4x NDR - SW    73  1 0x2c5e ( 'n0 mlx5_0' - 'MF0;l0:X/U1' )\n"
      "SW    74  1 0x2c5f 4x NDR - CA   648  1 0xe09e ( 'MF0;l1:X/U1' - 'it's - n1 mlx5_0' )\n"
      "SW    74  2 0x2c5f 4x NDR - CA   649  1 0xe09f ( 'MF0;l1:X/U1' - 'n1 mlx5_0' )\n"
      "SW    74  9 0x2c5f 4x NDR - SW    75  2 0x2c60 ( 'MF0;l1:X/U1' - 'MF0;s0:X/U1' )\n";
  const auto fabric = parse_ibnetdiscover(report, "t");
  ASSERT_TRUE(fabric) << fabric.error().line();
  EXPECT_EQ(text_of(fabric->map), "spine leaf\nn0 s0/l0 t:2\nn1 s0/l1 t:6\n");
  EXPECT_EQ(fabric->map.links.at("host").gbps, 400);
}

// The ports that agents reported identify adapters with only the maker's description.
TEST(Ibnetdiscover, KnowsThePortsThatTheMembersTold) {
  const Switches switches = {{"l0", "MT4129 ConnectX7   Mellanox Technologies@1, n9 mlx5_0, >s"},
                             {"l1",
                              "MT4129 ConnectX7   Mellanox Technologies@2, MT4129 ConnectX7   "
                              "Mellanox Technologies@3, >s"},
                             {"s", ">l0"}};
  Member first{"n0", "", ""};
  first.ports = std::string("mlx5_0/1 0x1003\n");
  Member second{"n1", "", ""};
  second.ports = std::string("mlx5_0/1 0x1005\nmlx5_1/1 0x9999\n");
  const std::vector<Member> members = {first, second};
  const auto fabric = parse_ibnetdiscover(DumpOfSwitches().text(switches), "t", members);
  ASSERT_TRUE(fabric) << fabric.error().line();
  EXPECT_EQ(text_of(fabric->map), "spine leaf\nn0 s/l0 t:3\nn9 s/l0 t:4\nn1 s/l1 t:9\n");
  const std::vector<Member> strangers = {{"n7", "", ""}};
  const auto unknown = parse_ibnetdiscover(
      DumpOfSwitches().text({{"l0", "MT4129 ConnectX7   Mellanox Technologies"}}), "t", strangers);
  ASSERT_TRUE(unknown) << unknown.error().line();
  EXPECT_EQ(text_of(unknown->map), "\nn7  t\n");
  EXPECT_EQ(unknown->map.warnings.back(),
            "t: the adapters do not name their hosts, and no node has reported its ports");
}

TEST(Ibnetdiscover, RefusesWithThePlace) {
  const std::string head = "Switch\t4 \"S-0a\"\t\t# \"l0\"\n";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "t: no line of the file begins with Switch or Ca"},
      {"# only comments\n", "t: no line of the file begins with Switch or Ca"},
      {"vendid=0x2c9\nCa\t1 \"H-0b\"\t\t# \"n0 HCA-1\"\n",
       "t:2:1: the file contains no switch: H-0b \"n0 HCA-1\" is linked to nothing; run "
       "ibnetdiscover on a node "
       "whose "
       "InfiniBand port is active"},
      {"Ca\t1 \"H-0b\"\t\t# \"n0 d0\"\n[1](b) \"H-0c\"[1] (c)  # lid 1 lmc 0 \"n1 d0\" lid 2 "
       "4xNDR\n",
       "t:1:1: the file contains no switch: H-0b \"n0 d0\" is linked to no switch"},
      {head, "t: the adapters do not name their hosts; are the hosts' ports up?"},
      {head + "[1] \"H-0b\"[1](b) # \"MT4129 ConnectX7 Mellanox Technologies\" lid 1 4xNDR\n",
       "t: the adapters do not name their hosts; set the adapters'"},
      {"[1] \"S-0a\"[1] # \"l0\"\n", "t:1:1: this port has no Switch, Ca or Rt line before it"},
      {head + "vendid=0x1\n[1] \"S-0a\"[1] # \"l0\"\n", "t:3:1: this port has no Switch"},
      {head + "  [x] \"S-0a\"[1]\n", "t:2:3: expected a port, as in [1]"},
      {head + "[256] \"H-0b\"[1]\n", "t:2:1: expected a port, as in [1], up to 255"},
      {head + "[1][ext x] \"H-0b\"[1]\n", "t:2:1: expected a port"},
      {head + "[1] H-0b[1]\n", "t:2:5: expected the name of a node"},
      {head + "[1] \"H-0b\n", "t:2:5: expected the name of a node"},
      {head + "[1] \"H-xyz\"[1]\n", "t:2:5: expected the name of a node"},
      {head + "[1] \"H-00000000000000001\"[1](g)\n", "t:2:29: expected a GUID"},
      {head + "[1] \"H-0b\"[1](b) lid 3\n", "t:2:18: expected '#' and a description"},
      {head + "[1] \"H-0b\"\n", "t:2:11: expected a port"},
      {"Switch 400 \"S-0a\"\n", "t:1:12: the number of ports is missing, or above 255"},
      {"Switch 4 \"H-0a\" # \"l0\"\n", "t:1:10: H-0a is not a name of a Switch"},
      {head + "Switch\t4 \"S-0a\"\t\t# \"l1\"\n",
       "t:2:10: S-0a appears twice, first at t:1; remove one"},
      {head + "[1] \"H-0b\"[1] # \"n0 d0\"\n[1] \"H-0c\"[1] # \"n1 d0\"\n",
       "t:3:1: the cable goes from S-0a[1] to H-0c[1], but t:2 has H-0b[1] at the other end of "
       "S-0a[1]; "
       "run "
       "ibnetdiscover again"},
      {head +
           "[1] \"H-0b\"[1] # \"n0 d0\"\nCa 1 \"H-0b\" # \"n0 d0\"\n[1](b) \"S-0a\"[2] # lid 1\n",
       "t:4:1: the cable goes from H-0b[1] to S-0a[2], but t:2 has S-0a[1] at the other end of "
       "H-0b[1]"},
      {head + "[1] \"H-0b\"[1] # \"n0 d0\"\n" + prose(20),
       "t:19:1: this is not a line of a record or a port; give the whole output"},
      {"SW    73  1 0x2c5e 4x NDR - CA 6\n",
       "t:1:1: this line does not describe a port and the port at the other end of its cable; give "
       "the whole output of "
       "`ibnetdiscover -p`"},
  };
  for (const auto& [text, expected] : rows) {
    const auto fabric = parse_ibnetdiscover(text, "t");
    ASSERT_FALSE(fabric) << text;
    EXPECT_EQ(fabric.error().line().find(expected), 0u) << text << fabric.error().line();
  }
}

TEST(Ibnetdiscover, BoundsWhatANameMayHave) {
  Switches switches = {{"l0", "n0 mlx5_0"}};
  for (int i = 0; i < 70; ++i) switches[0].second += fmt::format(", crowd d{}", i);
  const auto fabric = parsed(switches);
  ASSERT_TRUE(fabric) << fabric.error().line();
  EXPECT_EQ(text_of(fabric->map), "leaf\nn0 l0 t:3\n");
  EXPECT_EQ(fabric->map.warnings.at(0),
            "t:4: crowd has 70 ports, more than a machine's 64: several machines have this name");
}

TEST(SetName, IsShort) {
  EXPECT_EQ(set_name({"a"}), "a");
  EXPECT_EQ(set_name({"l-01-04", "l-02-04", "l-03-04"}), "l-[01-03]-04");
  EXPECT_EQ(set_name({"s1", "s10", "s11"}), "s[1,10-11]");
  EXPECT_EQ(set_name({"leaf", "leaf2"}), "leaf,leaf2");
  EXPECT_EQ(set_name({"A10-SPINE-01", "A10-SPINE-02", "B10-SPINE-05"}),
            "A10-SPINE-[01-02],B10-SPINE-05");
  const std::string long_name(40, 'x');
  EXPECT_EQ(set_name({long_name + "a", long_name + "b", long_name + "c"}), long_name + "a+2");
}

// Two groups of two hosts, four rails: rail r of group g is on leaf "GgR r", and each leaf on both
// spines. Every port names its other end, as the program prints them.
std::string fabric_of_four_rails() {
  constexpr int groups = 2, rails = 4, hosts = 2;
  const auto leaf = [](int group, int rail) { return fmt::format("G{}-LEAF-{:02}", group, rail); };
  const auto leaf_guid = [](int group, int rail) { return 0x100 + group * 16 + rail; };
  const auto adapter = [](int group, int host, int rail) {
    return 0x1000 + group * 256 + host * 16 + rail;
  };
  const auto head = [](std::string_view key, int guid) {
    return fmt::format("vendid=0x2c9\ndevid=0xd2f2\nsysimgguid=0x{0:x}\n{1}=0x{0:x}(0x{0:x})\n",
                       guid, key);
  };
  std::string text = "#\n# Topology file: generated for a test\n#\n";
  for (int spine = 0; spine < 2; ++spine) {
    text += '\n' + head("switchguid", 0x200 + spine) +
            fmt::format("Switch\t65 \"S-{:016x}\"\t\t# \"SPINE-{}\" enhanced port 0 lid 1 lmc 0\n",
                        0x200 + spine, spine);
    for (int g = 0; g < groups; ++g) {
      for (int r = 0; r < rails; ++r) {
        text += fmt::format("[{}]\t\"S-{:016x}\"[{}]\t\t# \"{}\" lid 9 4xNDR\n", g * rails + r + 1,
                            leaf_guid(g, r), hosts + spine + 1, leaf(g, r));
      }
    }
  }
  for (int g = 0; g < groups; ++g) {
    for (int r = 0; r < rails; ++r) {
      text += '\n' + head("switchguid", leaf_guid(g, r)) +
              fmt::format("Switch\t65 \"S-{:016x}\"\t\t# \"{}\" enhanced port 0 lid 2 lmc 0\n",
                          leaf_guid(g, r), leaf(g, r));
      for (int h = 0; h < hosts; ++h) {
        text += fmt::format("[{}]\t\"H-{:016x}\"[1]({:x}) \t\t# \"dgx-{}{} HCA-{}\" lid 3 4xNDR\n",
                            h + 1, adapter(g, h, r), adapter(g, h, r), g, h, r);
      }
      for (int spine = 0; spine < 2; ++spine) {
        text += fmt::format("[{}]\t\"S-{:016x}\"[{}]\t\t# \"SPINE-{}\" lid 1 4xNDR\n",
                            hosts + spine + 1, 0x200 + spine, g * rails + r + 1, spine);
      }
    }
  }
  for (int g = 0; g < groups; ++g) {
    for (int h = 0; h < hosts; ++h) {
      for (int r = 0; r < rails; ++r) {
        text +=
            '\n' + head("caguid", adapter(g, h, r)) +
            fmt::format(
                "Ca\t1 \"H-{:016x}\"\t\t# \"dgx-{}{} HCA-{}\"\n"
                "[1]({:x}) \t\"S-{:016x}\"[{}]\t\t# lid 3 lmc 0 \"{}\" lid 2 4xNDR\n",
                adapter(g, h, r), g, h, r, adapter(g, h, r), leaf_guid(g, r), h + 1, leaf(g, r));
      }
    }
  }
  return text;
}

TEST(Ibnetdiscover, ReadsAFabricOfFourRails) {
  const auto fabric = parse_ibnetdiscover(fabric_of_four_rails(), "t");
  ASSERT_TRUE(fabric) << fabric.error().line();
  EXPECT_EQ(fabric->map.levels, (std::vector<std::string>{"spine", "leaf"}));
  std::map<std::string, std::string> places;
  for (const Map::Entry& entry : fabric->map.hosts) {
    places[entry.host] = std::string(entry.location.path.text());
  }
  EXPECT_EQ(places,
            (std::map<std::string, std::string>{{"dgx-00", "/SPINE-[0-1]/G0-LEAF-[00-03]/"},
                                                {"dgx-01", "/SPINE-[0-1]/G0-LEAF-[00-03]/"},
                                                {"dgx-10", "/SPINE-[0-1]/G1-LEAF-[00-03]/"},
                                                {"dgx-11", "/SPINE-[0-1]/G1-LEAF-[00-03]/"}}));
  for (const auto& rails : fabric->rails) EXPECT_EQ(rails.size(), 4u);
  EXPECT_EQ(fabric->map.links.at("host").gbps, 1'600);  // four adapters
  EXPECT_EQ(fabric->map.links.at("leaf").gbps, 3'200);  // four leaves with two uplinks each
  EXPECT_TRUE(fabric->map.warnings.empty());
}

// The whole output on a host whose cable leads nowhere.
TEST(Ibnetdiscover, RefusesADumpWithoutAFabric) {
  const auto fabric = parse_ibnetdiscover(
      "#\n# Topology file: generated for a test\n#\n\nvendid=0x2c9\ndevid=0x1021\n"
      "sysimgguid=0x1000\ncaguid=0x1000\nCa\t1 \"H-0000000000001000\"\t\t# \"gb200-n01 HCA-1\"\n",
      "t");
  ASSERT_FALSE(fabric);
  EXPECT_TRUE(
      fabric.error().line().starts_with("t:9:1: the file contains no switch: H-0000000000001000 "
                                        "\"gb200-n01 HCA-1\" is linked to nothing"))
      << fabric.error().line();
}

// A data file beside the repository, if it exists.
Result<std::string> shared_data(const std::string& name) {
  const auto root = std::filesystem::path(__FILE__).parent_path() / "../../..";
  return read_file(root / "../shared/data" / name);
}

// The numbers come from a separate script that counts in the raw text: 582 Ca records, made up of
// 40 for SHARP, 69 with the maker's description and 473 that name 122 hosts.
TEST(Ibnetdiscover, ReadsARealFabricOfFourRails) {
  const auto text = shared_data("ibnetdiscover-ndr-4rail.txt");
  if (!text)
    GTEST_SKIP() << "the sample dump is not beside the repository: " << text.error().line();
  const auto fabric = parse_ibnetdiscover(*text, "t");
  ASSERT_TRUE(fabric) << fabric.error().line();
  EXPECT_EQ(fabric->map.levels, (std::vector<std::string>{"spine", "leaf"}));
  EXPECT_EQ(fabric->map.hosts.size(), 122u);

  std::map<std::size_t, int> hosts_of_rails;
  std::map<std::string, int> leaves;
  for (const auto& rails : fabric->rails) {
    ++hosts_of_rails[rails.size()];
    for (const Rail& rail : rails) ++leaves[rail.leaf];
  }
  EXPECT_EQ(hosts_of_rails, (std::map<std::size_t, int>{{2, 2}, {3, 11}, {4, 109}}));
  EXPECT_EQ(leaves.size(), 31u);

  std::map<std::string, int> spines, groups;
  for (const Map::Entry& entry : fabric->map.hosts) {
    ++spines[*entry.location.path[0]];
    ++groups[*entry.location.path[1]];
  }
  EXPECT_EQ(spines,
            (std::map<std::string, int>{{"A10-P1-IBSPINE-[01-04],B10-P1-IBSPINE-[05-09]", 122}}));
  EXPECT_EQ(groups, (std::map<std::string, int>{{"A09-P1-IBLEAF-[01-02,04]-01", 11},
                                                {"A09-P1-IBLEAF-[01-04]-02", 11},
                                                {"A09-P1-IBLEAF-[01-04]-03", 18},
                                                {"A09-P1-IBLEAF-[01-04]-04", 17},
                                                {"B09-P1-IBLEAF-[01-04]-05", 18},
                                                {"B09-P1-IBLEAF-[01-04]-06", 15},
                                                {"B09-P1-IBLEAF-[01-04]-07", 16},
                                                {"B09-P1-IBLEAF-[01-04]-08", 16}}));
  // Four adapters per host; the group with the least uplink bandwidth is A09's 01.
  EXPECT_EQ(fabric->map.links.at("host").gbps, 1'600);
  EXPECT_EQ(fabric->map.links.at("leaf").gbps, 21'200);
  // The adapters of one host are really swapped.
  ASSERT_EQ(fabric->map.warnings.size(), 3u);
  EXPECT_TRUE(fabric->map.warnings[0].starts_with(
      "b08-p1-dgx-08-c01: HCA-5 is on leaf B09-P1-IBLEAF-04-08, where the others of its group"));
  EXPECT_NE(fabric->map.warnings[2].find("(69 such ports)"), std::string::npos);
}

TEST(Ibnetdiscover, RefusesARealDumpWithoutAFabric) {
  const auto text = shared_data("ibnetdiscover-bad.txt");
  if (!text)
    GTEST_SKIP() << "the sample dump is not beside the repository: " << text.error().line();
  const auto fabric = parse_ibnetdiscover(*text, "t");
  ASSERT_FALSE(fabric);
  EXPECT_EQ(fabric.error().line().find(
                "t:10:1: the file contains no switch: H-b8e92403009ca838 \"dgx-gb200-n01-c1 "
                "HCA-1\" is linked to nothing"),
            0u)
      << fabric.error().line();
}

}  // namespace
}  // namespace toprun::topology
