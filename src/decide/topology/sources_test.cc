#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/os/os_testing.h"
#include "decide/topology/source.h"
#include "decide/topology/topology_testing.h"

namespace toprun::topology {
namespace {

namespace fs = std::filesystem;

// Slurm with its configuration and scontrol as files in a folder.
class Locate : public ::testing::Test {
 protected:
  Locate() {
    environment_ = {{"SLURM_CONF", (folder_ / "slurm.conf").string()},
                    {"SLURM_JOB_ID", "1"},
                    {"SLURM_TOPO_LEN", "10"},
                    {"PATH", folder_.string() + ":/usr/bin:/bin"}};
    scontrol("echo 'slurm_load_topo error: Unable to contact slurm controller' >&2; exit 1");
  }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  void scontrol(const std::string& script) const {
    fs::permissions(write("scontrol", "#!/bin/sh\n" + script + "\n"), fs::perms::owner_all);
  }
  Result<Map> locate_members(std::vector<Member> members,
                             const std::string& topology = "auto") const {
    return locate({topology, std::move(members), environment_});
  }

  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
  Environment environment_;
};

const std::vector<Member> addressed = {{"n0", "s0.n0", "switch.node"},
                                       {"n1", "s1.n1", "switch.node"}};

TEST_F(Locate, BelievesTheMembersFirst) {
  write("topology.conf", "SwitchName=other Nodes=n[0-1]\n");
  for (const char* topology : {"auto", "slurm"}) {
    EXPECT_EQ(text_of(locate_members(addressed, topology)),
              "leaf\nn0 s0 SLURM_TOPOLOGY_ADDR\nn1 s1 SLURM_TOPOLOGY_ADDR\n");
  }
}

TEST_F(Locate, AsksTopologyConfForTheOthers) {
  const std::string conf = write("topology.conf", "SwitchName=s0 Nodes=n[0-2]\n");
  EXPECT_EQ(text_of(locate_members({addressed[0], {"n2", "", ""}, {"n9", "", ""}})),
            "leaf\nn0 s0 SLURM_TOPOLOGY_ADDR\nn2 s0 " + conf + ":1\n");
}

TEST_F(Locate, AsksScontrolLast) {
  scontrol(
      "[ -z \"$SLURM_TOPO_LEN\" ] && [ \"$*\" = 'show topology' ] && "
      "echo 'SwitchName=s7 Level=0 LinkSpeed=1 Nodes=n[0-1]'");
  EXPECT_EQ(text_of(locate_members({{"n1", "", ""}})), "leaf\nn1 s7 scontrol show topology:1\n");
  EXPECT_EQ(text_of(locate_members({}, "slurm")),
            "leaf\nn0 s7 scontrol show topology:1\nn1 s7 scontrol show topology:1\n");
}

TEST_F(Locate, AFlatSlurmIsAnAnswer) {
  write("topology.conf", "SwitchName=stale Nodes=n0\n");
  const auto map = locate_members({{"n0", "n0", "node"}});
  ASSERT_TRUE(map);
  EXPECT_TRUE(map->levels.empty());
}

TEST_F(Locate, AutoWarnsOfWhatItCannotRead) {
  write("topology.conf", "SwitchName=s0 Nodes=n[\n");
  const auto map = locate_members({{"n0", "", ""}});
  ASSERT_TRUE(map);
  EXPECT_EQ(map->source, "");
  ASSERT_EQ(map->warnings.size(), 2u);
  EXPECT_NE(map->warnings[0].find("topology.conf:1:22: "), std::string::npos) << map->warnings[0];
  EXPECT_NE(map->warnings[1].find("Unable to contact"), std::string::npos) << map->warnings[1];
}

TEST_F(Locate, SlurmByNameMustAnswer) {
  const auto map = locate_members({{"n0", "", ""}}, "slurm");
  ASSERT_FALSE(map);
  EXPECT_NE(map.error().line().find("Unable to contact"), std::string::npos) << map.error().line();
  scontrol("echo No topology information available");
  const auto nothing = locate_members({{"n0", "", ""}}, "slurm");
  ASSERT_FALSE(nothing);
  EXPECT_NE(nothing.error().line().find("nothing is known"), std::string::npos);
}

TEST_F(Locate, ContradictionsAreErrorsOfAutoToo) {
  write("topology.conf", "SwitchName=other Nodes=n[0-2]\n");
  const auto map = locate_members({addressed[0], {"n2", "", ""}});
  ASSERT_FALSE(map);
  EXPECT_EQ(map.error()->what, "host n0 has two positions");
  EXPECT_FALSE(locate_members({addressed[0], {"n1", "b0.n1", "block.node"}}));
}

TEST_F(Locate, OutsideSlurmAutoAsksNobody) {
  scontrol("touch '" + (folder_ / "called").string() + "'");
  const auto map = locate({"auto", {{"n0", "", ""}}, {{"PATH", folder_.string()}}});
  ASSERT_TRUE(map);
  EXPECT_EQ(map->source, "");
  EXPECT_TRUE(map->warnings.empty());
  EXPECT_FALSE(fs::exists(folder_ / "called"));
}

// A node with an answer from its cloud.
Member in_cloud(std::string name, std::string cloud, std::string text) {
  return {std::move(name), "", "", CloudEvidence{std::move(cloud), std::move(text), ""}};
}

TEST_F(Locate, ACloudIsBelievedWhereNoEngineKnowsALevel) {
  environment_.unset("SLURM_JOB_ID");
  const std::vector<Member> members = {in_cloud("n0", "gcp", "/c/b/0"),
                                       in_cloud("n1", "gcp", "/c/a/1")};
  const std::string expected = "cluster rack\nn0 c/b physical_host\nn1 c/a physical_host\n";
  for (const char* topology : {"auto", "gcp"}) {
    EXPECT_EQ(text_of(locate_members(members, topology)), expected) << topology;
    EXPECT_EQ(locate_members(members, topology)->source, "gcp");
  }
  std::vector<Member> flat = members;
  for (Member& member : flat) {
    member.address = member.name;
    member.pattern = "node";
  }
  EXPECT_EQ(text_of(locate_members(flat)), expected);
  std::vector<Member> in_tree = members;
  in_tree[0].address = "s0.n0";
  in_tree[0].pattern = "switch.node";
  EXPECT_EQ(text_of(locate_members(in_tree)),
            "leaf cluster rack\nn0 s0/c/b SLURM_TOPOLOGY_ADDR, physical_host\n"
            "n1 ?/c/a physical_host\n");
}

// A node with both pieces of evidence.
Member with(Member member, std::string address, std::string pattern) {
  member.address = std::move(address);
  member.pattern = std::move(pattern);
  return member;
}

TEST_F(Locate, WhatEngineAndCloudTellIsOneTree) {
  const auto map = locate_members({with(in_cloud("n0", "gcp", "/c/b/0"), "s0.n0", "switch.node"),
                                   with(in_cloud("n1", "gcp", "/c/b/1"), "s0.n1", "switch.node"),
                                   with(in_cloud("n2", "gcp", "/c/a/2"), "s1.n2", "switch.node")});
  ASSERT_TRUE(map);
  EXPECT_EQ(map->levels, (std::vector<std::string>{"cluster", "leaf"}));
  EXPECT_EQ(map->source, "slurm + gcp");
  EXPECT_EQ(map->notes, (std::vector<std::string>{"slurm gives leaf for 3 of 3 nodes",
                                                  "gcp gives cluster, rack for 3 of 3 nodes"}));
}

TEST_F(Locate, OfTwoThatContradictEachOtherTheFirstIsTaken) {
  const auto map = locate_members({with(in_cloud("n0", "gcp", "/c/b/0"), "s0.n0", "switch.node"),
                                   with(in_cloud("n1", "gcp", "/d/b/1"), "s0.n1", "switch.node"),
                                   with(in_cloud("n2", "gcp", "/d/b/2"), "s1.n2", "switch.node")});
  ASSERT_TRUE(map);
  EXPECT_EQ(map->source, "slurm");
  EXPECT_EQ(map->levels, std::vector<std::string>{"leaf"});
  EXPECT_EQ(
      map->warnings,
      std::vector<std::string>{
          "slurm and gcp contradict each other: n0 and n1 share leaf s0 (slurm) but not "
          "cluster (gcp: c and d), and n1 and n2 share cluster d (gcp) but not leaf (slurm: s0 "
          "and s1); used slurm, which has precedence"});
}

constexpr std::string_view gpu = "8b7b1c2d-0000-4a5b-9c8d-1234567890ab, ";

Member with_gpus(std::string name, std::string address, std::string_view clique) {
  Member member{name, address + "." + name, "switch.node"};
  member.nvlink = ProgramOutput{fmt::format("{0}{1}\n{0}{1}\n", gpu, clique), ""};
  return member;
}

TEST_F(Locate, NvlinkDomainsGoWithWhateverElseIsKnown) {
  const std::vector<Member> members = {with_gpus("n0", "s0", "1"), with_gpus("n1", "s0", "2"),
                                       with_gpus("n2", "s1", "3")};
  const std::string uuid = "8b7b1c2d-0000-4a5b-9c8d-1234567890ab.";
  EXPECT_EQ(text_of(locate_members(members)),
            fmt::format("leaf nvlink\nn0 s0/{0}1 SLURM_TOPOLOGY_ADDR, nvidia-smi\n"
                        "n1 s0/{0}2 SLURM_TOPOLOGY_ADDR, nvidia-smi\n"
                        "n2 s1/{0}3 SLURM_TOPOLOGY_ADDR, nvidia-smi\n",
                        uuid));
  const std::string file = write("racks", "n[0-1] /c/b/0\nn2 /c/a/0\n");
  EXPECT_EQ(locate_members(members, file)->levels,
            (std::vector<std::string>{"cluster", "rack", "nvlink"}));
  EXPECT_EQ(locate_members(members, "nvlink")->levels, std::vector<std::string>{"nvlink"});
}

TEST_F(Locate, ANodeWhoseGpusDisagreeIsNamed) {
  std::vector<Member> members = {with_gpus("n0", "s0", "1"), with_gpus("n1", "s0", "2"),
                                 with_gpus("n2", "s1", "3")};
  members[1].nvlink = ProgramOutput{fmt::format("{0}1\n{0}2\n", gpu), ""};
  members[2].nvlink = ProgramOutput{{}, "no answer within 1 s"};
  const auto map = locate_members(members, "nvlink");
  ASSERT_TRUE(map);
  EXPECT_EQ(map->hosts.size(), 1u);
  ASSERT_EQ(map->warnings.size(), 2u);
  EXPECT_TRUE(map->warnings[0].starts_with("n1: the NVLink domain is not known: GPU 0 is in the "))
      << map->warnings[0];
  EXPECT_EQ(map->warnings[1], "n2: the NVLink domain is not known: no answer within 1 s");
}

TEST_F(Locate, AutoWaitsNoLongerThanItsBudget) {
  scontrol("sleep 100");
  const auto began = std::chrono::steady_clock::now();
  const auto map = locate_members({{"n0", "", ""}});
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(60));
  ASSERT_TRUE(map);
  ASSERT_EQ(map->warnings.size(), 1u);
  EXPECT_TRUE(map->warnings[0].contains("no answer within 1.0 s")) << map->warnings[0];
}

TEST_F(Locate, ACloudThatKnowsNothingSaysWhy) {
  environment_.unset("SLURM_JOB_ID");
  const std::vector<Member> members = {in_cloud("n0", "gcp", ""), in_cloud("n1", "gcp", "")};
  const auto unknown = locate_members(members);
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->source, "");
  ASSERT_EQ(unknown->warnings.size(), 1u);
  EXPECT_TRUE(unknown->warnings[0].starts_with("n[0-1]: Google does not report their place"));
  const auto named = locate_members(members, "gcp");
  ASSERT_FALSE(named);
  EXPECT_TRUE(named.error().line().starts_with(
      "--topology gcp: nothing is known about the network: n[0-1]: Google does not report"))
      << named.error().line();
  const auto elsewhere = locate_members({{"n0", "", ""}}, "oci");
  ASSERT_FALSE(elsewhere);
  EXPECT_TRUE(elsewhere.error().line().contains("where the firmware names OracleCloud.com"));
}

TEST_F(Locate, AwsIsAskedByItsOwnCommand) {
  const std::vector<Member> members = {in_cloud("n0", "aws", "i-0a"), in_cloud("n1", "aws", "i-0b"),
                                       in_cloud("n2", "aws", "--no-sign-request")};
  const auto aws = [&](const std::string& script) {
    fs::permissions(write("aws", "#!/bin/sh\n" + script + "\n"), fs::perms::owner_all);
  };
  aws("[ \"$*\" = 'ec2 describe-instance-topology --output json --instance-ids i-0a i-0b' ] && "
      "echo '{\"Instances\":[{\"InstanceId\":\"i-0b\",\"NetworkNodes\":[\"nn\"]}]}'");
  EXPECT_EQ(text_of(locate_members(members, "aws")),
            "leaf\nn1 nn aws ec2 describe-instance-topology: Instances[0]\n");
  EXPECT_EQ(text_of(locate_members({{"i-0a", "", ""}, {"i-0b.ec2.internal", "", ""}}, "aws")),
            "leaf\ni-0b.ec2.internal nn aws ec2 describe-instance-topology: Instances[0]\n");
  aws("echo 'Unable to locate credentials' >&2; exit 253");
  const auto refused = locate_members(members, "aws");
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().line().contains("Unable to locate credentials"));
  EXPECT_TRUE(refused.error().line().contains("--instance-ids i-0a i-0b`"));
  // This source is slow and needs credentials, so `auto` does not use it.
  EXPECT_EQ(locate_members(members)->source, "");
}

TEST_F(Locate, AFileOfAwsNamesInstances) {
  const std::string file = write("aws.json",
                                 "{\"Instances\": [{\"InstanceId\": \"i-0a\", \"NetworkNodes\": "
                                 "[\"a\"]}, {\"InstanceId\": \"i-0b\", \"NetworkNodes\": "
                                 "[\"b\"]}]}\n");
  EXPECT_EQ(text_of(locate_members({in_cloud("n0", "aws", "i-0b"), {"i-0a.x", "", ""}}, file)),
            "leaf\nn0 b " + file + ": Instances[1]\ni-0a.x a " + file + ": Instances[0]\n");
}

TEST_F(Locate, AFileOfPortsIsMatchedByWhatTheNodesTold) {
  const std::string file = write("sharp", "SwitchName=a Nodes=0x1\nSwitchName=b Nodes=0x2,0x3\n");
  Member first{"n0", "", ""};
  first.ports = std::string("mlx5_ib0/1 0x2\n");
  Member second{"n1", "", ""};
  second.ports = std::string("mlx5_ib0/1 0x1\n");
  EXPECT_EQ(text_of(locate_members({first, second}, file)),
            "leaf\nn0 b " + file + ":2\nn1 a " + file + ":1\n");
  EXPECT_EQ(
      locate_members({}, file).error().line(),
      file +
          " lists InfiniBand ports instead of hosts: only the agents of a job know which host has "
          "which port; pass this file to a launch: toprun -v --topology FILE shows the order");
  const auto untold = locate_members({{"n0", "", ""}}, file);
  ASSERT_TRUE(untold);
  EXPECT_EQ(text_of(*untold), "\nn0  " + file + "\n");
  EXPECT_EQ(untold->warnings.back(),
            file + ": the file lists InfiniBand ports, but no node has reported its ports");
}

TEST_F(Locate, AzureByNameSaysWhatWasLookedFor) {
  const auto map = locate_members({{"n0", "", ""}}, "azure");
  ASSERT_FALSE(map);
  EXPECT_TRUE(
      map.error().line().starts_with("--topology azure: no node reported an InfiniBand port"))
      << map.error().line();
  EXPECT_EQ(locate_members({{"n0", "", ""}})->source, "") << "auto does without";
}

TEST_F(Locate, AFileIsTheOnlySourceWhereNamed) {
  const std::string file = write("racks", "n0.x /c/b/0\nn7 /c/a/7\n");
  const auto map = locate_members({addressed[0], addressed[1]}, file);
  EXPECT_EQ(text_of(map), "cluster rack\nn0 c/b " + file + ":1\n");
  EXPECT_EQ(map->source, "file " + file);
  EXPECT_EQ(locate_members({{"n9", "", ""}}, file)->source, "file " + file);
  EXPECT_FALSE(locate_members({}, (folder_ / "none").string()));
}

TEST_F(Locate, NamesTellWhereARuleSaysSo) {
  const auto map = locate_members({{"r1n0", "s0.r1n0", "switch.node"}, {"x", "", ""}},
                                  "name:(?<rack>r[0-9])(?<node>n[0-9])");
  EXPECT_EQ(text_of(map), "rack\nr1n0 r1 node name\n");
  EXPECT_EQ(map->source, "node names");
  EXPECT_FALSE(locate_members({{"n0", "", ""}}, "name:("));
  EXPECT_FALSE(locate_members({{"n0", "", ""}}, "name"));
}

TEST_F(Locate, EveryFormOfFileIsRead) {
  for (const auto& [name, text] :
       std::vector<std::pair<std::string, std::string>>{{"a.toml", "[hosts]\nn0 = \"/r\"\n"},
                                                        {"b", "[domains]\nr = \"n0\"\n"},
                                                        {"c", "SwitchName=r Nodes=n0\n"},
                                                        {"d", "n0 /r/0\n"},
                                                        {"e", "{\"hosts\": {\"n0\": \"/r\"}}"},
                                                        {"f",
                                                         "- {topology: t, tree: {switches: "
                                                         "[{switch: r, nodes: n0}]}}"},
                                                        {"g",
                                                         "Switch\t4 \"S-0a\"\t# \"r\"\n"
                                                         "[1] \"H-0b\"[1] # \"n0 d0\"\n"}}) {
    const auto map = locate_members({}, write(name, text));
    ASSERT_TRUE(map) << name << map.error().line();
    EXPECT_EQ(map->hosts[0].location.path, Path{"r"}) << name;
  }
}

}  // namespace
}  // namespace toprun::topology
