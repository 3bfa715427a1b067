#include "engines/slurm/machines.h"

#include <gtest/gtest.h>

namespace toprun::engines::slurm {
namespace {

TEST(SlurmMachines, CountsGpus) {
  struct Case {
    const char* gres;
    std::int64_t count;
    const char* kind;
  };
  for (const auto& [gres, count, kind] : std::vector<Case>{
           {"gpu:8", 8, ""},
           {"gpu:h100:8(S:0-1)", 8, "h100"},
           {"gpu:h100:4(IDX:0-3),nvme:1", 4, "h100"},
           {"nvme:1,gpu:a100:2(S:0,1),gpu:a30:1", 3, "a100"},
           {"gpu:h100:0(IDX:N/A)", 0, "h100"},
           {"shard:8,mps:100", 0, ""},
           {"(null)", 0, ""},
           {"gpu", 0, ""},
           {"gpu:many", 0, ""},
           {"gpu:-3", 0, ""},
           {"gpu:99999999999", 0, ""},
           {"", 0, ""},
       }) {
    EXPECT_EQ(gpus_in(gres).count, count) << gres;
    EXPECT_EQ(gpus_in(gres).kind, kind) << gres;
  }
}

TEST(SlurmMachines, KnowsWhichNodesTakeJobs) {
  struct Case {
    const char* state;
    bool usable, idle;
  };
  for (const auto& [state, usable, idle] : std::vector<Case>{
           {"IDLE", true, true},
           {"MIXED", true, false},
           {"ALLOCATED", true, false},
           {"IDLE+PLANNED", true, true},
           {"IDLE+CLOUD+POWERED_DOWN", true, true},
           {"IDLE+COMPLETING", true, false},
           {"IDLE*", false, false},
           {"IDLE+DRAIN", false, false},
           {"MIXED+DRAIN", false, false},
           {"DOWN*+DRAIN", false, false},
           {"IDLE+MAINTENANCE+RESERVED", false, false},
           {"IDLE+NOT_RESPONDING", false, false},
       }) {
    const auto nodes = parse_nodes(fmt::format("NodeName=n0 State={} Partitions=a,b \n", state));
    ASSERT_EQ(nodes.size(), 1u);
    EXPECT_EQ(nodes[0].usable, usable) << state;
    EXPECT_EQ(nodes[0].idle, idle) << state;
  }
}

TEST(SlurmMachines, ReadsNodesAndPartitions) {
  const auto nodes = parse_nodes(
      "NodeName=n0 Arch=x86_64 CPUAlloc=1 CPUEfctv=32 CPUTot=32 Gres=gpu:h100:8(S:0-1) "
      "GresDrain=N/A "
      "GresUsed=gpu:h100:3(IDX:0-2) NodeAddr=10.77.0.1 OS=Linux 6.18 #1 SMP @0  RealMemory=4000 "
      "State=MIXED Partitions=main,urgent  Reason=x y [root@2026]\nNodeName=n1 State=IDLE\n");
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].partitions, (std::vector<std::string>{"main", "urgent"}));
  EXPECT_EQ(nodes[0].cpus, 32);
  EXPECT_EQ(nodes[0].gpus, 8);
  EXPECT_EQ(nodes[0].used_gpus, 3);
  EXPECT_EQ(nodes[0].gpu_kind, "h100");
  EXPECT_TRUE(nodes[1].partitions.empty());
  const auto partitions = parse_partitions(
      "PartitionName=main Default=YES QoS=N/A DefaultTime=NONE MaxNodes=UNLIMITED "
      "MaxTime=UNLIMITED "
      "Nodes=n[0-3] PriorityTier=1 State=UP\n"
      "PartitionName=debug Default=NO QoS=short DefaultTime=00:10:00 MaxNodes=2 MaxTime=00:30:00 "
      "PriorityTier=10 State=DOWN\n");
  ASSERT_EQ(partitions.size(), 2u);
  EXPECT_TRUE(partitions[0].is_default);
  EXPECT_EQ(partitions[0].limit, std::nullopt);
  EXPECT_EQ(partitions[0].most_nodes, std::nullopt);
  EXPECT_EQ(partitions[0].qos, "");
  EXPECT_EQ(partitions[1].limit, std::chrono::minutes(30));
  EXPECT_EQ(partitions[1].default_limit, std::chrono::minutes(10));
  EXPECT_EQ(partitions[1].most_nodes, 2);
  EXPECT_EQ(partitions[1].priority, 10);
  EXPECT_EQ(partitions[1].state, "DOWN");
}

}  // namespace
}  // namespace toprun::engines::slurm
