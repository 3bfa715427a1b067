#include "node/plan/arrange.h"

#include <gtest/gtest.h>

#include "node/link/preamble.h"

namespace toprun::plan {
namespace {

using model::Join;

Join agent(std::string host, int slots = 2, std::optional<int> index = {},
           std::optional<int> rank = {}) {
  Join join;
  join.agent = link::new_agent_id();
  join.host = std::move(host);
  join.slots = slots;
  join.node_index = index;
  join.node_rank = rank;
  return join;
}

Join in_place(std::string host, int index, int local_rank) {
  Join join = agent(std::move(host), 1, index);
  join.local_rank = local_rank;
  return join;
}

// A map from hosts and their racks.
topology::Map racks(const std::vector<std::pair<std::string, std::string>>& hosts) {
  topology::MapBuilder builder("test");
  for (const auto& [host, rack] : hosts) {
    EXPECT_TRUE(builder.add(host, {{rack}, "test", ""}, "test").has_value());
  }
  return builder.finish({"rack"});
}

std::vector<int> first_ranks(const run::Arrangement& arrangement) {
  std::vector<int> ranks;
  for (const auto& part : arrangement.parts) ranks.push_back(part.first_rank);
  return ranks;
}

TEST(Arrange, TopologyWhereThereIsEvidence) {
  const std::vector<Join> members = {agent("n0"), agent("n1"), agent("n2"), agent("n3")};
  const auto result =
      arrange(members, Options{}, racks({{"n0", "b"}, {"n1", "a"}, {"n2", "b"}, {"n3", "a"}}));
  ASSERT_TRUE(result.has_value()) << result.error().line();
  EXPECT_EQ(first_ranks(*result), (std::vector<int>{4, 0, 6, 2}));
  EXPECT_EQ(result->store_host, 1u);
  EXPECT_EQ(result->parts[0].world_size, 8);
  EXPECT_EQ(result->parts[0].location, "/b/n0");
}

TEST(Arrange, ParallelSizesHaveToFitOneNodeToo) {
  Options options;
  options.plan.emplace().parallel.sizes = {{cost::Kind::tp, 3}};
  for (const auto& members : {std::vector{agent("n0")}, {agent("n0"), agent("n1")}}) {
    const auto refused = arrange(members, options, {});
    ASSERT_FALSE(refused.has_value());
    EXPECT_TRUE(refused.error().line().starts_with(
        "--parallel tp=3: the product of these sizes, 3, does not divide "))
        << refused.error().line();
  }
  EXPECT_TRUE(arrange({agent("n0", 3)}, options, {}).has_value());
}

TEST(Arrange, WithC10dNodeRanksAreWishes) {
  Options c10d;
  c10d.rdzv_backend.value = "c10d";
  const struct {
    std::vector<int> node_ranks;
    std::vector<int> ranks;
    const char* warning;
  } cases[] = {
      {{1, 0}, {2, 0}, ""},
      {{0, 1}, {0, 2}, ""},
      {{0, 0},
       {0, 2},
       "--node-rank 0 is ignored, as with torchrun's c10d: this rank is given on a and on b"},
      {{0, 5}, {0, 2}, "--node-rank 5 is ignored, as with torchrun's c10d: there are 2 nodes"},
  };
  for (const auto& c : cases) {
    const std::vector<Join> members = {agent("a", 2, {}, c.node_ranks[0]),
                                       agent("b", 2, {}, c.node_ranks[1])};
    const auto result = arrange(members, c10d, {});
    ASSERT_TRUE(result.has_value()) << result.error().line();
    EXPECT_EQ(first_ranks(*result), c.ranks);
    const std::vector<std::string>& warnings = result->order.warnings;
    EXPECT_EQ(warnings.empty() ? "" : warnings.front(), c.warning);
  }
}

TEST(Arrange, StableNodesKeepTheirRanks) {
  const topology::Map map = racks({{"n0", "b"}, {"n1", "a"}, {"n2", "b"}, {"n3", "a"}});
  const std::vector<std::string> before = {"n1", "n3", "n0", "n2"};
  const std::vector<Join> left = {agent("n0"), agent("n2"), agent("n3")};
  EXPECT_EQ(first_ranks(*arrange(left, Options{}, map, before)), (std::vector<int>{2, 4, 0}));
  Options stable;
  stable.stable = true;
  EXPECT_EQ(first_ranks(*arrange(left, stable, map, before)), (std::vector<int>{4, 0, 2}));
  EXPECT_EQ(first_ranks(*arrange(left, stable, map, {})), (std::vector<int>{2, 4, 0}));
}

TEST(Arrange, SegmentsStayTogether) {
  Options options;
  options.segment = 2;
  const std::vector<Join> members = {agent("n0"), agent("n1"), agent("n2"), agent("n3")};
  const auto result =
      arrange(members, options, racks({{"n0", "a"}, {"n1", "a"}, {"n2", "a"}, {"n3", "b"}}));
  EXPECT_EQ(first_ranks(*result), (std::vector<int>{0, 2, 4, 6}));
  EXPECT_EQ(result->order.name, "topology");
  ASSERT_EQ(result->order.warnings.size(), 1u);
  EXPECT_EQ(result->order.warnings[0],
            "2 of 4 nodes are in segments of 2 that no single rack holds: n[2-3]");
  EXPECT_EQ(result->order.levels[0].minimum, 2u);
}

TEST(Arrange, WithoutEvidenceTheEnginesOrderElseTheNames) {
  const std::vector<Join> by_engine = {agent("x", 2, 1), agent("y", 2, 0)};
  EXPECT_EQ(first_ranks(*arrange(by_engine, Options{}, {})), (std::vector<int>{2, 0}));
  const std::vector<Join> by_name = {agent("n10"), agent("n2")};
  EXPECT_EQ(first_ranks(*arrange(by_name, Options{}, {})), (std::vector<int>{2, 0}));
}

TEST(Arrange, NodeRanksFixTheOrderWhateverTheEvidence) {
  const std::vector<Join> members = {agent("n0", 2, 0, 1), agent("n1", 3, 1, 0)};
  const auto result = arrange(members, Options{}, racks({{"n0", "a"}, {"n1", "b"}}));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(first_ranks(*result), (std::vector<int>{3, 0}));
  EXPECT_EQ(result->parts[0].group_rank, 1);
}

TEST(Arrange, AnExplicitOrderWinsOverNodeRanks) {
  Options options;
  options.order = Order::name;
  const std::vector<Join> members = {agent("n0", 2, 0, 1), agent("n1", 2, 1, 0)};
  EXPECT_EQ(first_ranks(*arrange(members, options, {})), (std::vector<int>{0, 2}));
}

TEST(Arrange, RanksInPlaceFollowTheirNode) {
  const std::vector<Join> members = {in_place("n1", 1, 0), in_place("n0", 0, 1),
                                     in_place("n0", 0, 0), in_place("n1", 1, 1)};
  const auto result = arrange(members, Options{}, racks({{"n0", "b"}, {"n1", "a"}}));
  ASSERT_TRUE(result.has_value()) << result.error().line();
  EXPECT_EQ(first_ranks(*result), (std::vector<int>{0, 3, 2, 1}));
  EXPECT_EQ(result->parts[1].local_world_size, 2);
  EXPECT_EQ(result->store_host, 0u);
}

TEST(Arrange, RolesCountAmongTheirEquals) {
  std::vector<Join> members = {agent("n0", 2), agent("n1", 3), agent("n2", 2)};
  members[1].role = "reader";
  const auto result = arrange(members, Options{}, {});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->parts[2].role_first_rank, 2);
  EXPECT_EQ(result->parts[2].role_world_size, 4);
  EXPECT_EQ(result->parts[1].role_first_rank, 0);
  EXPECT_EQ(result->parts[1].role_world_size, 3);
}

TEST(Arrange, TwoAgentsOfOneHostAreTwoNodes) {
  const std::vector<Join> members = {agent("n0", 2, {}, 0), agent("n0", 2, {}, 1)};
  EXPECT_EQ(first_ranks(*arrange(members, Options{}, {})), (std::vector<int>{0, 2}));
}

TEST(Arrange, SaysWhyAnOrderIsImpossible) {
  Options options;
  options.order = Order::topology;
  const auto no_evidence = arrange({agent("a"), agent("b")}, options, {});
  ASSERT_FALSE(no_evidence.has_value());
  EXPECT_NE(no_evidence.error().line().find("where the nodes are in the network"),
            std::string::npos);
  options.order = Order::scheduler;
  EXPECT_FALSE(arrange({agent("a"), agent("b")}, options, {}).has_value());
  EXPECT_FALSE(arrange({in_place("a", 0, 0), in_place("a", 0, 2)}, Options{}, {}).has_value());
}

TEST(Arrange, AListOfHostsIsNoScheduler) {
  const std::vector<Join> members = {agent("n2", 1, 0), agent("n1", 1, 1)};
  for (const bool are_listed : {true, false}) {
    const auto arranged = arrange(members, Options{}, {}, {}, are_listed);
    ASSERT_TRUE(arranged);
    EXPECT_EQ(first_ranks(*arranged), (std::vector<int>{0, 1}));
    EXPECT_EQ(arranged->order.name, are_listed ? "given" : "scheduler");
  }
}

// Slurm numbers nodes by their names, and a list of hosts (-m arbitrary) puts task 0 on any of
// them.
TEST(Arrange, OrderOfTheTasks) {
  const auto task = [](Join join, int number) {
    join.task = number;
    return join;
  };
  Options options;
  options.order = Order::scheduler;
  const std::vector<Join> agents = {task(agent("n1", 2, 0), 1), task(agent("n3", 2, 1), 0)};
  EXPECT_EQ(first_ranks(*arrange(agents, options, {})), (std::vector<int>{2, 0}));

  const std::vector<Join> blocks = {task(in_place("n1", 0, 0), 2), task(in_place("n1", 0, 1), 3),
                                    task(in_place("n3", 1, 1), 1), task(in_place("n3", 1, 0), 0)};
  const auto in_blocks = arrange(blocks, options, {});
  EXPECT_EQ(first_ranks(*in_blocks), (std::vector<int>{2, 3, 1, 0}));
  EXPECT_TRUE(in_blocks->order.warnings.empty());

  const std::vector<Join> mixed = {task(in_place("n1", 0, 0), 1), task(in_place("n1", 0, 1), 3),
                                   task(in_place("n3", 1, 0), 0), task(in_place("n3", 1, 1), 2)};
  const auto apart = arrange(mixed, options, {});
  EXPECT_EQ(first_ranks(*apart), (std::vector<int>{2, 3, 0, 1}));
  ASSERT_EQ(apart->order.warnings.size(), 1u);
  EXPECT_TRUE(apart->order.warnings[0].contains("2 of 4 ranks have another number"));
}

}  // namespace
}  // namespace toprun::plan
