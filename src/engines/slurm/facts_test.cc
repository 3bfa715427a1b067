#include "engines/slurm/facts.h"

#include <gtest/gtest.h>

#include <utility>

namespace toprun::engines {
namespace {

TEST(SlurmFacts, NodesAreReadFromSinfo) {
  const auto kinds = node_kinds_in(
      "main*|up|infinite|4|32|(null)|1\n"
      "a100|up|2-00:00:00|16|128|gpu:a100:8(S:0-1),nic:2|2000000+\n"
      "mixed|down|1:00:00|2|64+|gpu:h100:4(S:0,1)|515000\n"
      "sinfo: warning of a site\n"
      "\n");
  const std::vector<NodeKind> expected = {
      {"main", true, true, "infinite", 4, 32, 0, 1},
      {"a100", false, true, "2-00:00:00", 16, 128, 8, 2'000'000},
      {"mixed", false, false, "1:00:00", 2, 64, 4, 515'000}};
  EXPECT_EQ(kinds, expected);
}

TEST(SlurmFacts, TheSizeOfArraysIsReadFromTheConfiguration) {
  EXPECT_EQ(max_array_size_in("MailProg = /bin/mail\nMaxArraySize            = 1001\n"), 1001);
  EXPECT_EQ(max_array_size_in("MaxArraySize = x\n"), 0);
  EXPECT_EQ(max_array_size_in(""), 0);
}

TEST(SlurmFacts, TheTopologyPluginIsReadFromTheConfiguration) {
  EXPECT_EQ(topology_plugin_in("A = b\nTopologyParam           = (null)\n"
                               "TopologyPlugin          = topology/tree\n"),
            "tree");
  EXPECT_EQ(topology_plugin_in("SLURM_VERSION = 22.05.8\n"), "");
}

TEST(SlurmFacts, TheKindOfTopologyIsToldByItsLines) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"SwitchName=core Level=1 LinkSpeed=0 Nodes=n[0-3] Switches=r0,r1\n"
       "SwitchName=r0 Level=0 LinkSpeed=0 Nodes=n[0,2]\n",
       "tree"},
      {"BlockName=r0 BlockIndex=0 Nodes=n0,n2 BlockSize=2\n", "block"},
      {"", ""},
      {"No topology information available\n", ""},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(topology_kind_in(text), expected) << text;
}

TEST(SlurmFacts, LeavesAndBlocksAreReadFromTheTopology) {
  EXPECT_EQ(leaf_nodes_in("SwitchName=r0 Level=0 LinkSpeed=1 Nodes=n0,n2\n"
                          "SwitchName=r1 Level=0 LinkSpeed=1 Nodes=n[1,3-5]\n"
                          "SwitchName=core Level=1 LinkSpeed=1 Nodes=n[0-5] Switches=r0,r1\n"),
            (std::vector{2, 4}));
  EXPECT_EQ(block_nodes_in("BlockName=b0 BlockIndex=0 Nodes=n[0-17] BlockSize=18\n"
                           "AggregatedBlock=b0,b1 BlockIndex=2 Nodes=n[0-35] BlockSize=36\n"),
            18);
  EXPECT_EQ(block_nodes_in("SwitchName=r0 Level=0 Nodes=n0"), 0);
}

TEST(SlurmFacts, TimesAreReadAsSbatchDoes) {
  struct Case {
    std::string_view text;
    std::optional<std::int64_t> seconds;
  };
  const std::vector<Case> cases = {{"90", 5400},
                                   {"1:30", 90},
                                   {"2:00:00", 7200},
                                   {"1-0", 86400},
                                   {"1-2:30", 95400},
                                   {"2-00:00:01", 172801},
                                   {"infinite", std::nullopt},
                                   {"0", std::nullopt},
                                   {"0:00:00", std::nullopt},
                                   {"UNLIMITED", std::nullopt},
                                   {"1:2:3:4", std::nullopt},
                                   {"-5", std::nullopt},
                                   {"", std::nullopt},
                                   {"99999999999999", std::nullopt}};
  for (const auto& [text, seconds] : cases) EXPECT_EQ(slurm_seconds(text), seconds) << text;
}

TEST(SlurmFacts, GpusAreCountedInRequests) {
  struct Case {
    std::string_view gres;
    int gpus;
  };
  const std::vector<Case> cases = {{"gpu:4", 4},         {"gpu:h100:8(S:0-1)", 8}, {"gpu", 1},
                                   {"gpu:h100", 1},      {"gpu:a:2,gpu:b:3", 5},   {"(null)", 0},
                                   {"nic:2,shard:8", 0}, {"gpu:99999999999", 1}};
  for (const auto& [gres, gpus] : cases) EXPECT_EQ(gpus_in_gres(gres), gpus) << gres;
}

}  // namespace
}  // namespace toprun::engines
