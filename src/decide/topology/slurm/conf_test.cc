#include "decide/topology/slurm/conf.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/os/os_testing.h"
#include "decide/topology/topology_testing.h"

namespace toprun::topology {
namespace {

namespace fs = std::filesystem;

Result<std::string> no_files(const std::string& path) {
  return fail("cannot read " + path);
}

std::string parsed_conf(std::string_view text) {
  return text_of(parse_slurm_conf(text, "t.conf", no_files));
}

TEST(SlurmConf, ReadsTrees) {
  EXPECT_EQ(parsed_conf("# racks\n"
                        "SwitchName=s0 Nodes=n[0,4] LinkSpeed=1\n"
                        "switchname=s1 NODES=n[1,5]   # the second\n"
                        "SwitchName=p0 Switches=s[0-1]\n"),
            "spine leaf\n"
            "n0 p0/s0 t.conf:2\nn4 p0/s0 t.conf:2\nn1 p0/s1 t.conf:3\nn5 p0/s1 t.conf:3\n");
}

TEST(SlurmConf, ReadsSwitchesAndBlocksOfOneFile) {
  EXPECT_EQ(
      parsed_conf("SwitchName=s0 Nodes=n[0-1]\nSwitchName=s1 Nodes=n[2-3]\n"
                  "BlockName=b0 Nodes=n0\nBlockName=b1 Nodes=n1\nBlockName=b2 Nodes=n[2-3]\n"),
      "leaf block\nn0 s0/b0 t.conf:1, t.conf:3\nn1 s0/b1 t.conf:1, t.conf:4\n"
      "n2 s1/b2 t.conf:2, t.conf:5\nn3 s1/b2 t.conf:2, t.conf:5\n");
  const auto map = parse_slurm_conf(
      "SwitchName=s0 Nodes=n[0-1]\nSwitchName=s1 Nodes=n[2-3]\nBlockName=b0 Nodes=n[1-2]\n"
      "BlockName=b1 Nodes=n[0,3]\n",
      "t.conf", no_files);
  ASSERT_TRUE(map) << map.error().line();
  EXPECT_EQ(map->levels, std::vector<std::string>{"leaf"});
  ASSERT_EQ(map->warnings.size(), 1u);
  EXPECT_TRUE(map->warnings[0].starts_with("t.conf: its switches and its blocks contradict"))
      << map->warnings[0];
  EXPECT_TRUE(map->warnings[0].ends_with("; the switches are used")) << map->warnings[0];
}

TEST(SlurmConf, AllIsEveryKnownHost) {
  EXPECT_EQ(text_of(parse_slurm_conf(
                "SwitchName=s Nodes=ALL\nBlockName=b Nodes=n0\nBlockName=c Nodes=n1\n", "t",
                no_files, {"n1", "n7"})),
            "leaf block\nn0 s/b t:1, t:2\nn1 s/c t:1, t:3\nn7 s/? t:1\n");
  EXPECT_EQ(text_of(parse_slurm_conf("BlockName=b Nodes=all\n", "t", no_files, {"n1"})),
            "block\nn1 b t:1\n");
}

TEST(SlurmConf, ReadsFatTreesSwitchBySwitch) {
  EXPECT_EQ(parsed_conf("SwitchName=s0 Nodes=n0\nSwitchName=s1 Nodes=n1\nSwitchName=s2 Nodes=n2\n"
                        "SwitchName=sp0 Switches=s[0-1]\nSwitchName=sp1 Switches=s0,s1\n"
                        "SwitchName=core Switches=sp[0-1]\n"),
            "core spine leaf\n"
            "n0 core/sp[0-1]/s0 t.conf:1\nn1 core/sp[0-1]/s1 t.conf:2\nn2 -/-/s2 t.conf:3\n");
}

TEST(SlurmConf, ALeafRightBelowTheTopHasNoSpine) {
  EXPECT_EQ(parsed_conf("SwitchName=s0 Nodes=n0\nSwitchName=s9 Nodes=n9\nSwitchName=p Switches=s0\n"
                        "SwitchName=c Switches=p,s9\n"),
            "core spine leaf\nn0 c/p/s0 t.conf:1\nn9 c/-/s9 t.conf:2\n");
}

TEST(SlurmConf, ReadsRings) {
  EXPECT_EQ(parsed_conf("RingName=r0 Nodes=n[2,0-1]\nRingName=r1 Nodes=n3\n"),
            "ring\nn2 r0 t.conf:1\nn0 r0 t.conf:1\nn1 r0 t.conf:1\nn3 r1 t.conf:2\n");
}

// Uses Slurm's level numbers; ignores them if they are inconsistent.
TEST(SlurmConf, TakesTheLevelsThatSlurmTells) {
  EXPECT_EQ(
      parsed_conf("SwitchName=c Level=2 Nodes=n[0-1] Switches=p,s1\n"
                  "SwitchName=p Level=1 Nodes=n0 Switches=s0\nSwitchName=s0 Level=0 Nodes=n0\n"
                  "SwitchName=s1 Level=1 Nodes=n1\n"),
      "core spine leaf\nn0 c/p/s0 t.conf:3\nn1 c/s1/- t.conf:4\n");
  EXPECT_EQ(parsed_conf("SwitchName=c Level=0 Switches=s0\nSwitchName=s0 Level=1 Nodes=n0\n"),
            "spine leaf\nn0 c/s0 t.conf:2\n");
}

TEST(SlurmConf, WarnsOfOddLines) {
  const auto map = parse_slurm_conf(
      "SwitchName=s0 Nodes=n[0-1]\nSwitchName=s1 Nodes=n[0-1] Switches=s0\nSwitchName=s2 Nodez=n9\n"
      "Colour=red\n",
      "t.conf", no_files);
  ASSERT_TRUE(map);
  EXPECT_EQ(text_of(*map), "leaf\nn0 s[0-1] t.conf:1\nn1 s[0-1] t.conf:1\n");
  EXPECT_EQ(map->warnings,
            (std::vector<std::string>{
                "t.conf:1: host n0 is below several leaves; it is also at t.conf:2 (2 such hosts)",
                "t.conf:2 (switch s1): the switch has nodes, so toprun ignores its Switches, as "
                "Slurm does",
                "t.conf:3 (switch s2): the switch has neither nodes nor switches",
                "t.conf:3:15: unknown key nodez is ignored; did you mean nodes? (2 such keys)"}));
}

TEST(SlurmConf, ReadsBlocks) {
  EXPECT_EQ(parsed_conf("BlockName=b0 Nodes=n[0-1]\nBlockName=b1 Nodes=n2\n"),
            "block\nn0 b0 t.conf:1\nn1 b0 t.conf:1\nn2 b1 t.conf:2\n");
  EXPECT_EQ(
      parsed_conf("BlockName=b0 Nodes=n0\nBlockName=b1 Nodes=n1\nBlockName=b2 Nodes=n2\n"
                  "BlockSizes=1,4,2\n"),
      "block4 block2 block\n"
      "n0 b[0-2]/b[0-1]/b0 t.conf:1\nn1 b[0-2]/b[0-1]/b1 t.conf:2\nn2 b[0-2]/b2/b2 t.conf:3\n");
  EXPECT_EQ(parsed_conf("BlockName=b0 Nodes=n0\nBlockLevels=0-1,2\n"), "block\nn0 b0 t.conf:1\n");
}

TEST(SlurmConf, WarnsOfBlocksAboveTheirSize) {
  const auto map = parse_slurm_conf(
      "BlockName=b0 Nodes=n[0-2]\nBlockName=b1 Nodes=n[3-4]\nBlockName=b2 Nodes=n[5-7]\n"
      "BlockSizes=2,4\n",
      "t.conf", no_files);
  ASSERT_TRUE(map) << map.error().line();
  EXPECT_EQ(map->warnings,
            std::vector<std::string>{
                "t.conf:1: block b0 has 3 nodes, more than its size 2 (2 such blocks)"});
}

TEST(SlurmConf, ReadsSlurmsLineForms) {
  EXPECT_EQ(parsed_conf("SwitchName = s0 \\\n   Nodes = \"n0, n1\" \\  \n  LinkSpeed=1\n"
                        "SwitchName=s\\#1 Nodes=n2\\\n,n3\r\n"),
            "leaf\nn0 s0 t.conf:1\nn1 s0 t.conf:1\nn2 s#1 t.conf:4\nn3 s#1 t.conf:4\n");
}

TEST(SlurmConf, ReadsIncludedFiles) {
  const auto files = [](const std::string& path) -> Result<std::string> {
    if (path == "racks.conf") return "SwitchName=s0 Nodes=n0\nInclude more.conf\n";
    if (path == "more.conf") return "SwitchName=s1 Nodes=n1\n";
    if (path == "bad.conf") return "SwitchName=s2 Nodes=n[\n";
    if (path == "self.conf") return "include self.conf\n";
    return fail("cannot read " + path, "No such file or directory");
  };
  const auto with = [&](std::string_view text) {
    return text_of(parse_slurm_conf(text, "t.conf", files));
  };
  EXPECT_EQ(with("Include racks.conf\nSwitchName=p Switches=s[0-1]\n"),
            "spine leaf\nn0 p/s0 racks.conf:1\nn1 p/s1 more.conf:1\n");
  EXPECT_EQ(with("INCLUDE bad.conf\n").find("error: bad.conf:1:22: "), 0u);
  EXPECT_EQ(with("\n  Include none.conf\n"),
            "error: t.conf:2:1: cannot read none.conf: No such file or directory");
  EXPECT_NE(with("Include self.conf\n").find("does a file include itself?"), std::string::npos);
}

TEST(SlurmConf, RefusesWithThePlace) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"SwitchName=s0 Nodes=n[1-\n", "t.conf:1:22: '[' is never closed"},
      {"SwitchName=s0 \\\n Nodes=n0,n[3-1]\n", "t.conf:2:13: the range 3-1 descends"},
      {"SwitchName=s0 Nodes=n[0-999999999]\n", "t.conf:1:23: the range"},
      {"\nSwitchName\n", "t.conf:2:11: expected Key=value"},
      {"\f\f\ninclude \t\n", "t.conf:2:1: this Include line does not name a file"},
      {"=x\n", "t.conf:1:1: expected Key=value"},
      {"SwitchName=s0 Nodes=n0 Nodes=n1\n", "t.conf:1:24: nodes appears twice"},
      {"SwitchName=s0 Nodes=\"n0\n", "t.conf:1:21: the quotation mark"},
      {"SwitchName=s[0-1] Nodes=n0\n", "t.conf:1:12: 's[0-1]' is not the name"},
      {"SwitchName= Nodes=n0\n", "t.conf:1:12: '' is not the name"},
      {"Nodes=n0\n", "t.conf:1:1: the line does not name a switch"},
      {"SwitchName=a Nodes=n0\nSwitchName=a Nodes=n1\n",
       "t.conf:2:1: switch a appears twice, first at t.conf:1"},
      {"SwitchName=a Nodes=n0,n0\n", "t.conf:1:1: host n0 appears twice"},
      {"SwitchName=a Switches=b\n", "t.conf:1:1: switch a is above b, which no line defines"},
      {"SwitchName=a Switches=a\n", "t.conf:1:1: the switches form a cycle: a > a (t.conf:1)"},
      {"SwitchName=t Switches=a\nSwitchName=a Switches=b,l\nSwitchName=l Nodes=n0\n"
       "SwitchName=b Switches=c\nSwitchName=c Switches=a\n",
       "the switches form a cycle: a > b (t.conf:4) > c (t.conf:5) > a (t.conf:2)"},
      {"BlockName=b0 Nodes=n0\nBlockName=b1 Nodes=n0\n",
       "t.conf:2:1: host n0 appears twice, first at t.conf:1"},
      {"BlockName=b0 Nodes=n0\nBlockName=b0 Nodes=n1\n", "t.conf:2:1: block b0 appears twice"},
      {"BlockName=b0 Nodes=n0\nBlockSizes=1,x\n", "t.conf:2:14: BlockSizes needs"},
      {"SwitchName=a Nodes=ALL\n",
       "t.conf:1:1: Nodes=ALL stands for all hosts, but this command has no list of hosts; pass "
       "the file to a launch"},
      {"TorusName=t Dims=2x2x2 Nodes=n[0-7]\n  TorusName=t PlacementDims=1x1x1(1) Anchors=8\n",
       "t.conf:1:1: this line does not give the nodes' positions in torus t; give topology.yaml, "
       "or the output of `scontrol show topoconf`"},
      {"AggregatedBlock=b[0-1] BlockSize=2\nBlockName=b0 Nodes=n0\n", "block b1 is in a group"},
      {"AggregatedBlock=b0\nBlockName=b0 Nodes=n0\n", "t.conf:1:1: AggregatedBlock needs"},
  };
  for (const auto& [text, expected] : rows) {
    const std::string outcome = parsed_conf(text);
    EXPECT_NE(outcome.find(expected), std::string::npos) << text << outcome;
    EXPECT_EQ(outcome.find("error: "), 0u) << text << outcome;
  }
}

TEST(SlurmConf, BoundsDepthAndSize) {
  std::string deep = "SwitchName=s0 Nodes=n0\n";
  for (std::size_t i = 1; i <= max_levels; ++i) {
    deep += fmt::format("SwitchName=s{} Switches=s{}\n", i, i - 1);
  }
  EXPECT_NE(parsed_conf(deep).find("more than 15 levels below it"), std::string::npos);
  EXPECT_EQ(
      parsed_conf("SwitchName=p0 Switches=s[0-65535]\nSwitchName=p1 Switches=a[0-999]b[0-949]\n")
          .find("error: t.conf:2:24: there are too many hosts: at most 262144 hosts are allowed"),
      0u);
  std::string keys = "SwitchName=s0";
  for (int i = 0; i < 100; ++i) keys += fmt::format(" k{}=1", i);
  EXPECT_NE(parsed_conf(keys).find("more than 32 keys"), std::string::npos);
}

TEST(SlurmConf, ReadsTheFileOfTheSlurmConfiguration) {
  const TemporaryFolder temporary;
  const fs::path& folder = temporary.path();
  const auto write = [&](const char* name, const char* text) {
    std::ofstream(folder / name) << text;
  };
  Request request;
  request.environment.set("SLURM_CONF", (folder / "slurm.conf").string());

  auto map = read_slurm_conf(request);
  ASSERT_TRUE(map);
  EXPECT_FALSE(*map);  // no file
  write("topology.conf", "Include leaves.conf\n");
  write("leaves.conf", "SwitchName=s0 Nodes=n0\n");
  map = read_slurm_conf(request);
  ASSERT_TRUE(map) << map.error().line();
  EXPECT_EQ(text_of(**map), "leaf\nn0 s0 leaves.conf:1\n");
  EXPECT_EQ((*map)->source, "slurm");
  // Slurm ignores topology.conf beside a topology.yaml.
  write("topology.yaml", "- topology: t\n  tree: {switches: [{switch: s9, nodes: n9}]}\n");
  map = read_slurm_conf(request);
  ASSERT_TRUE(map) << map.error().line();
  EXPECT_EQ(text_of(**map), "leaf\nn9 s9 " + (folder / "topology.yaml").string() + ":2\n");
  EXPECT_EQ((*map)->source, "slurm");
  write("topology.yaml", "- topology: t\n  flat: true\n");
  map = read_slurm_conf(request);
  ASSERT_TRUE(map);
  EXPECT_FALSE(*map);
}

// The output format of different versions: Slurm up to 23.02, 23.11, 24.11.
TEST(Scontrol, ReadsEveryVersion) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[0,4] \n"
       "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1,5] \n"
       "SwitchName=p0 Level=1 LinkSpeed=1 Nodes=n[0-1,4-5] Switches=s[0-1] \n",
       "spine leaf\nn0 p0/s0 scontrol show topology:1\nn4 p0/s0 scontrol show topology:1\n"
       "n1 p0/s1 scontrol show topology:2\nn5 p0/s1 scontrol show topology:2\n"},
      {"SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n0\nSwitchName=s2 Level=0 LinkSpeed=1 Nodes=\n"
       "SwitchName=p0 Level=1 LinkSpeed=1 Nodes= Switches=s0,s2\n",
       "spine leaf\nn0 p0/s0 scontrol show topology:1\n"},
      {"BlockName=b0 BlockIndex=0 Nodes=n[0-1]\nBlockName=b1 BlockIndex=1 Nodes=(null)\n",
       "block\nn0 b0 scontrol show topology:1\nn1 b0 scontrol show topology:1\n"},
      {"BlockName=b3 BlockIndex=0 Nodes=n0 BlockSize=1\nBlockName=b2 BlockIndex=1 Nodes=n1 "
       "BlockSize=1\n"
       "AggregatedBlock=b[3,2] BlockIndex=4 Nodes=n[0-1] BlockSize=2\n",
       "block2 block\nn0 b[3,2]/b3 scontrol show topology:1\nn1 b[3,2]/b2 scontrol show "
       "topology:2\n"},
      {"No topology information available\n", "\n"},
      {"", "\n"},
  };
  for (const auto& [text, expected] : rows)
    EXPECT_EQ(text_of(parse_scontrol_topology(text)), expected);
}

TEST(Scontrol, RefusesOtherText) {
  EXPECT_EQ(text_of(parse_scontrol_topology("a=b\n")),
            "error: cannot read the output of `scontrol show topology`: its first line is 'a=b'; "
            "give a file with --topology");
}

}  // namespace
}  // namespace toprun::topology
