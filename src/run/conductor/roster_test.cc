#include "run/conductor/roster.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace toprun::run {
namespace {

using model::Join;
using model::Refusal;

// Of an agent that no other has.
std::string new_agent_name() {
  static int made = 0;
  return fmt::format("agent {}", ++made);
}

Join agent(std::string host, std::optional<int> rank = {}, int nnodes = 2) {
  Join join;
  join.agent = new_agent_name();
  join.host = std::move(host);
  join.node_rank = rank;
  join.nnodes = nnodes;
  return join;
}

Join restarting(std::string host, std::optional<int> rank, std::optional<int> max_restarts) {
  Join join = agent(std::move(host), rank);
  join.max_restarts = max_restarts;
  return join;
}

Join in_place(std::string host, int local_rank) {
  Join join = agent(std::move(host), {}, 0);
  join.local_rank = local_rank;
  return join;
}

Roster fixed_roster(int nodes) {
  return Roster({nodes, nodes, false});
}

// Admits an agent and opens its link.
std::optional<model::Refused> come(Roster& roster, const Join& join) {
  auto refused = roster.admit(join);
  if (!refused) roster.arrived(*roster.find(join.agent), "10.0.0.1");
  return refused;
}

std::vector<std::string> hosts(const Roster& roster) {
  std::vector<std::string> names;
  for (const std::string& agent : roster.members()) names.push_back(roster.find(agent)->join.host);
  return names;
}

using Names = std::vector<std::string>;

TEST(Roster, IsFullWithTheLastOne) {
  Roster roster = fixed_roster(2);
  EXPECT_FALSE(come(roster, agent("a")));
  EXPECT_FALSE(roster.full());
  EXPECT_EQ(roster.missing({"a", "b"}), Names{"b"});
  EXPECT_FALSE(come(roster, agent("b")));
  EXPECT_TRUE(roster.full());
}

TEST(Roster, RefusesByName) {
  struct Case {
    Join second;
    Refusal expected;
  };
  const Case cases[] = {
      {agent("b", 0), Refusal::rank_taken},
      {agent("b", 1, 3), Refusal::job},
      {in_place("b", 0), Refusal::job},
      {restarting("b", 1, 0), Refusal::job},
  };
  for (const Case& one : cases) {
    Roster roster = fixed_roster(2);
    ASSERT_FALSE(come(roster, restarting("a", 0, 3)));
    const auto refused = come(roster, one.second);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code, one.expected) << refused->text;
    EXPECT_EQ(roster.present(), 1);
  }
}

TEST(Roster, SaysWhoIsAtOddsAboutRestarts) {
  Roster roster({2, 2, true});
  ASSERT_FALSE(come(roster, restarting("a", 0, 3)));
  const auto refused = come(roster, restarting("b", 1, 1));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->text,
            "b was started with --max-restarts 1, but the root agent on a with 3: give all nodes "
            "the same value");
  // An agent that gives no number is admitted.
  EXPECT_FALSE(come(roster, restarting("b", 1, {})));
}

// A spare, or a replacement for a lost node: a refusal would cost the job more than the difference.
TEST(Roster, TakesLateOnesWhateverTheirRestarts) {
  Roster roster({1, 2, true});
  ASSERT_FALSE(come(roster, restarting("a", 0, 3)));
  roster.close();
  const Join late = restarting("b", 1, 1);
  EXPECT_FALSE(come(roster, late));
  ASSERT_NE(roster.with_other_max_restarts(late), nullptr);
  roster.open();
  EXPECT_FALSE(come(roster, restarting("c", 2, 0)));
}

TEST(Roster, WishesForOneRankDoNotClash) {
  Roster roster({2, 2, false, true});
  EXPECT_FALSE(come(roster, agent("a", 0)));
  EXPECT_FALSE(come(roster, agent("b", 0)));
  EXPECT_TRUE(roster.full());
}

TEST(Roster, RefusesMoreThanTheJobHas) {
  Roster roster = fixed_roster(1);
  ASSERT_FALSE(come(roster, agent("a")));
  const auto refused = come(roster, agent("b"));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, Refusal::full);
}

TEST(Roster, TheSameRankIsFreeAgainOnceItsHolderLeft) {
  Roster roster = fixed_roster(2);
  const Join first = agent("a", 0);
  ASSERT_FALSE(come(roster, first));
  roster.forget(first.agent);
  EXPECT_FALSE(come(roster, agent("b", 0)));
}

TEST(Roster, RanksInPlaceShareANodeButNotALocalRank) {
  Roster roster = fixed_roster(4);
  Join rank = agent("a");
  rank.node_index = 0;
  for (const int local_rank : {0, 1}) {
    rank.agent = new_agent_name();
    rank.local_rank = local_rank;
    ASSERT_FALSE(come(roster, rank));
  }
  rank.agent = new_agent_name();
  const auto refused = come(roster, rank);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, Refusal::rank_taken);
}

TEST(Roster, TheRootsOwnIdIsTakenAndNobodyElseGetsItsSeat) {
  Roster roster = fixed_roster(2);
  const Join root = agent("a");
  ASSERT_FALSE(come(roster, root));
  Join duplicate = agent("b");
  duplicate.agent = root.agent;
  EXPECT_TRUE(roster.admit(duplicate));
  EXPECT_EQ(roster.find(root.agent)->join.host, "a");
}

TEST(Roster, IsEnoughBetweenTheLeastAndTheMost) {
  Roster roster({1, 2, true});
  EXPECT_FALSE(roster.enough());
  ASSERT_FALSE(come(roster, agent("a")));
  EXPECT_TRUE(roster.enough());
  EXPECT_FALSE(roster.full());
}

TEST(Roster, WhoComesLateIsASpareUntilASeatIsFree) {
  Roster roster({1, 2, true});
  const Join first = agent("a");
  ASSERT_FALSE(come(roster, first));
  roster.close();
  for (const char* host : {"b", "c"}) ASSERT_FALSE(come(roster, agent(host)));
  EXPECT_EQ(hosts(roster), Names{"a"});

  roster.open();
  EXPECT_EQ(hosts(roster), (Names{"a", "b"}));

  roster.forget(first.agent);
  roster.open();
  EXPECT_EQ(hosts(roster), (Names{"b", "c"}));
}

TEST(Roster, ASpareTakesTheSeatThatItsNodeRankNames) {
  Roster roster({2, 2, true});
  const Join zero = agent("a", 0);
  const Join one = agent("b", 1);
  ASSERT_FALSE(come(roster, zero));
  ASSERT_FALSE(come(roster, one));
  roster.close();
  ASSERT_FALSE(come(roster, agent("c", 0)));
  ASSERT_FALSE(come(roster, agent("d", 1)));
  roster.forget(one.agent);
  roster.open();
  EXPECT_EQ(hosts(roster), (Names{"a", "d"}));
}

TEST(Roster, CountsTheSparesThatItWouldTakeIn) {
  Roster roster({1, 3, true});
  ASSERT_FALSE(come(roster, agent("a", 0, 3)));
  roster.close();
  EXPECT_EQ(roster.newcomers(), 0);
  ASSERT_FALSE(come(roster, agent("its place is taken", 0, 3)));
  EXPECT_EQ(roster.newcomers(), 0);
  ASSERT_FALSE(come(roster, agent("b", 1, 3)));
  ASSERT_FALSE(come(roster, agent("the same place as b's", 1, 3)));
  EXPECT_EQ(roster.newcomers(), 1);
  ASSERT_FALSE(come(roster, agent("c", {}, 3)));
  ASSERT_FALSE(come(roster, agent("one too many", {}, 3)));
  EXPECT_EQ(roster.newcomers(), 2);
  roster.open();
  EXPECT_EQ(hosts(roster), (Names{"a", "b", "c"}));
  EXPECT_EQ(roster.newcomers(), 0);
}

}  // namespace
}  // namespace toprun::run
