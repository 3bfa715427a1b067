#include <gtest/gtest.h>

#include "decide/placement/groups.h"

namespace toprun::placement {
namespace {

// The team of each of four nodes, "0 0 1 1", and their kind; "-": no group is on two nodes.
std::string teams(std::string_view parallel, int nproc, std::optional<cost::Kind> kind = {}) {
  std::vector<Host> hosts;
  std::vector<int> processes;
  for (int i = 0; i < 4; ++i) {
    hosts.push_back({fmt::format("n{}", i), nproc});
    processes.push_back(nproc);
  }
  const topology::Map map;
  const Plan plan{*cost::parse_parallel(parallel), {}, {}, {}};
  const auto found = teams_of(*place(hosts, map), *prepare(plan, map, processes), kind);
  if (!found) return "-";
  EXPECT_EQ(found->count, 1 + *std::ranges::max_element(found->of_node));
  return fmt::format("{}: {}", name_of(found->kind), fmt::join(found->of_node, " "));
}

TEST(Teams, NodesThatShareGroups) {
  const struct {
    std::string_view parallel;
    int nproc;
    std::optional<cost::Kind> kind;
    std::string_view expected;
  } rows[] = {
      {"tp=8,pp=2", 8, cost::Kind::pp, "pp: 0 1 0 1"},  // Megatron numbers the stages outermost
      {"tp=8,pp=2", 8, {}, "dp: 0 0 1 1"},
      {"tp=8,pp=2", 8, cost::Kind::tp, "-"},  // groups are inside each node
      {"tp=16", 8, {}, "tp: 0 0 1 1"},        // the kind with the most traffic
      {"tp=8", 8, {}, "dp: 0 0 0 0"},         // one team is better than none
      {"tp=4,pp=2", 2, cost::Kind::tp, "tp: 0 0 1 1"},
      {"dp=4", 1, {}, "dp: 0 0 0 0"},
  };
  for (const auto& [parallel, nproc, kind, expected] : rows) {
    EXPECT_EQ(teams(parallel, nproc, kind), expected) << parallel;
  }
}

}  // namespace
}  // namespace toprun::placement
