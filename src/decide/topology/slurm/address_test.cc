#include "decide/topology/slurm/address.h"

#include <gtest/gtest.h>

#include "decide/topology/topology_testing.h"

namespace toprun::topology {
namespace {

std::string located(std::vector<Member> members) {
  return text_of(map_of_addresses(members));
}

TEST(SlurmAddress, ReadsEveryForm) {
  const std::string tree = "switch.switch.switch.node";
  const std::vector<std::pair<std::vector<Member>, std::string>> rows = {
      {{{"n4", "c.p0.s0.n4", tree}}, "core spine leaf\nn4 c/p0/s0 SLURM_TOPOLOGY_ADDR\n"},
      {{{"n0", "core.sp[0-1].s0.n0", tree}},
       "core spine leaf\nn0 core/sp[0-1]/s0 SLURM_TOPOLOGY_ADDR\n"},
      {{{"n6", "..u.n6", tree}}, "core spine leaf\nn6 -/-/u SLURM_TOPOLOGY_ADDR\n"},
      {{{"n5", "b1.n5", "block.node"}}, "block\nn5 b1 SLURM_TOPOLOGY_ADDR\n"},
      {{{"n5", "n5", "node"}}, "\nn5  SLURM_TOPOLOGY_ADDR\n"},
      {{{"n5", "s0.n5.c.x.internal", "switch.node"}}, "leaf\nn5 s0 SLURM_TOPOLOGY_ADDR\n"},
      {{{"n0", "", ""}, {"n1", "s0.n1", ""}, {"n2", "s0.n2", "switch.node"}},
       "leaf\nn2 s0 SLURM_TOPOLOGY_ADDR\n"},
      // Some nodes of a block topology are in no block.
      {{{"n0", "b0.n0", "block.node"}, {"n1", "n1", "node"}},
       "block\nn0 b0 SLURM_TOPOLOGY_ADDR\nn1 ? SLURM_TOPOLOGY_ADDR\n"},
      // Trees of different depth are aligned at the leaf.
      {{{"n0", "s0.n0", "switch.node"}, {"n1", "c.s1.n1", "switch.switch.node"}},
       "spine leaf\nn0 ?/s0 SLURM_TOPOLOGY_ADDR\nn1 c/s1 SLURM_TOPOLOGY_ADDR\n"},
      // Coordinates in a torus.
      {{{"n0", "t0:1:2:3.n0", "torus:x:y:z.node"}, {"n1", "t0:0:2:3.n1", "torus:x:y:z.node"}},
       "torus plane row\nn0 t0/z3/y2 SLURM_TOPOLOGY_ADDR\nn1 t0/z3/y2 SLURM_TOPOLOGY_ADDR\n"},
      // Two agents on one host.
      {{{"n0", "s0.n0", "switch.node"}, {"n0", "s0.n0", "switch.node"}},
       "leaf\nn0 s0 SLURM_TOPOLOGY_ADDR\n"},
      // One name on two levels means two switches.
      {{{"n0", "a.b.n0", "switch.switch.node"}, {"n1", "b.a.n1", "switch.switch.node"}},
       "spine leaf\nn0 a/b SLURM_TOPOLOGY_ADDR\nn1 b/a SLURM_TOPOLOGY_ADDR\n"},
  };
  for (const auto& [members, expected] : rows) EXPECT_EQ(located(members), expected);
}

TEST(SlurmAddress, IgnoresMalformedOnesAloud) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"s0.n0", "switch.switch.node"},
      {"n0", "switch.node"},
      {"s0.", "switch.node"},
      {"s0.n0", "switch.switch"},
      {"s0.n0", ".node"},
      {"a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.n0", "s.s.s.s.s.s.s.s.s.s.s.s.s.s.s.s.s.node"},
  };
  for (const auto& [address, pattern] : rows) {
    const auto map = map_of_addresses(std::vector<Member>{{"n0", address, pattern}});
    ASSERT_TRUE(map) << address;
    EXPECT_TRUE(map->hosts.empty()) << address;
    ASSERT_EQ(map->warnings.size(), 1u) << address;
    EXPECT_NE(map->warnings[0].find(address + " (" + pattern + ")"), std::string::npos);
  }
}

TEST(SlurmAddress, RefusesContradictionsAndNamesBoth) {
  const std::string two = "switch.switch.node";
  EXPECT_EQ(
      located({{"n0", "p0.s0.n0", two}, {"n1", "p1.s0.n1", two}}),
      "error: SLURM_TOPOLOGY_ADDR of n0 and n1 contradict each other: s0 is below p0 and below "
      "p1: n0 says p0.s0.n0 (switch.switch.node), n1 says p1.s0.n1 (switch.switch.node); choose "
      "one source with --topology");
  EXPECT_EQ(located({{"n0", "s0.n0", "switch.node"}, {"n1", "b0.n1", "block.node"}})
                .find("error: SLURM_TOPOLOGY_ADDR of n0 and n1 contradict each other: the kinds"),
            0u);
  EXPECT_EQ(located({{"n0", "s0.n0", "switch.node"}, {"n0", "s1.n0", "switch.node"}})
                .find("error: SLURM_TOPOLOGY_ADDR of n0 and n0 contradict each other: one host"),
            0u);
}

}  // namespace
}  // namespace toprun::topology
