#include "rendezvous/gathering.h"

#include <gtest/gtest.h>

#include "rendezvous/preamble.h"

namespace toprun::rendezvous {
namespace {

Join agent(std::string host, std::optional<int> rank = {}, int nnodes = 2) {
  Join join;
  join.agent = random_hex(8);
  join.host = std::move(host);
  join.node_rank = rank;
  join.nnodes = nnodes;
  return join;
}

Join in_place(std::string host, int local_rank) {
  Join join = agent(std::move(host), {}, 0);
  join.local_rank = local_rank;
  return join;
}

Gathering fixed(int nodes) {
  return Gathering({nodes, nodes, false});
}

std::vector<std::string> hosts(const std::vector<Join>& joins) {
  std::vector<std::string> names;
  for (const Join& join : joins) names.push_back(join.host);
  return names;
}

using Names = std::vector<std::string>;

TEST(Gathering, IsFullWithTheLastOne) {
  Gathering gathering = fixed(2);
  EXPECT_FALSE(gathering.admit(agent("a")));
  EXPECT_FALSE(gathering.full());
  EXPECT_EQ(gathering.missing({"a", "b"}), Names{"b"});
  EXPECT_FALSE(gathering.admit(agent("b")));
  EXPECT_TRUE(gathering.full());
}

TEST(Gathering, RefusesByName) {
  struct Case {
    Join second;
    Refusal expected;
  };
  const Case cases[] = {
      {agent("b", 0), Refusal::rank_taken},
      {agent("b", 1, 3), Refusal::job},
      {in_place("b", 0), Refusal::job},
  };
  for (const Case& one : cases) {
    Gathering gathering = fixed(2);
    ASSERT_FALSE(gathering.admit(agent("a", 0)));
    const auto refused = gathering.admit(one.second);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code, one.expected) << refused->text;
    EXPECT_EQ(gathering.present(), 1);
  }
}

TEST(Gathering, WishesForOneRankDoNotClash) {
  Gathering gathering({2, 2, false, true});
  EXPECT_FALSE(gathering.admit(agent("a", 0)));
  EXPECT_FALSE(gathering.admit(agent("b", 0)));
  EXPECT_TRUE(gathering.full());
}

TEST(Gathering, RefusesMoreThanTheJobHas) {
  Gathering gathering = fixed(1);
  ASSERT_FALSE(gathering.admit(agent("a")));
  const auto refused = gathering.admit(agent("b"));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, Refusal::full);
}

TEST(Gathering, TheSameRankIsFreeAgainOnceItsHolderLeft) {
  Gathering gathering = fixed(2);
  const Join first = agent("a", 0);
  ASSERT_FALSE(gathering.admit(first));
  gathering.forget(first.agent);
  EXPECT_FALSE(gathering.admit(agent("b", 0)));
}

TEST(Gathering, RanksInPlaceShareANodeButNotALocalRank) {
  Gathering gathering = fixed(4);
  Join rank = agent("a");
  rank.node_index = 0;
  rank.local_rank = 0;
  ASSERT_FALSE(gathering.admit(rank));
  rank.local_rank = 1;
  ASSERT_FALSE(gathering.admit(rank));
  const auto refused = gathering.admit(rank);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, Refusal::rank_taken);
}

TEST(Gathering, IsEnoughBetweenTheLeastAndTheMost) {
  Gathering gathering({1, 2, true});
  EXPECT_FALSE(gathering.enough());
  ASSERT_FALSE(gathering.admit(agent("a")));
  EXPECT_TRUE(gathering.enough());
  EXPECT_FALSE(gathering.full());
}

TEST(Gathering, WhoComesLateIsASpareUntilASeatIsFree) {
  Gathering gathering({1, 2, true});
  const Join first = agent("a");
  ASSERT_FALSE(gathering.admit(first));
  gathering.close();
  for (const char* host : {"b", "c"}) ASSERT_FALSE(gathering.admit(agent(host)));
  EXPECT_EQ(hosts(gathering.members()), Names{"a"});

  gathering.open();
  EXPECT_EQ(hosts(gathering.members()), (Names{"a", "b"}));
  EXPECT_EQ(hosts(gathering.spares()), Names{"c"});

  gathering.forget(first.agent);
  gathering.open();
  EXPECT_EQ(hosts(gathering.members()), (Names{"b", "c"}));
}

TEST(Gathering, ASpareTakesTheSeatThatItsNodeRankNames) {
  Gathering gathering({2, 2, true});
  const Join zero = agent("a", 0);
  const Join one = agent("b", 1);
  ASSERT_FALSE(gathering.admit(zero));
  ASSERT_FALSE(gathering.admit(one));
  gathering.close();
  ASSERT_FALSE(gathering.admit(agent("c", 0)));
  ASSERT_FALSE(gathering.admit(agent("d", 1)));
  gathering.forget(one.agent);
  gathering.open();
  EXPECT_EQ(hosts(gathering.members()), (Names{"a", "d"}));
  EXPECT_EQ(hosts(gathering.spares()), Names{"c"});
}

TEST(Gathering, CountsTheSparesThatItWouldTakeIn) {
  Gathering gathering({1, 3, true});
  ASSERT_FALSE(gathering.admit(agent("a", 0, 3)));
  gathering.close();
  EXPECT_EQ(gathering.newcomers(), 0);
  ASSERT_FALSE(gathering.admit(agent("its place is taken", 0, 3)));
  EXPECT_EQ(gathering.newcomers(), 0);
  ASSERT_FALSE(gathering.admit(agent("b", 1, 3)));
  ASSERT_FALSE(gathering.admit(agent("the same place as b's", 1, 3)));
  EXPECT_EQ(gathering.newcomers(), 1);
  ASSERT_FALSE(gathering.admit(agent("c", {}, 3)));
  ASSERT_FALSE(gathering.admit(agent("one too many", {}, 3)));
  EXPECT_EQ(gathering.newcomers(), 2);
  gathering.open();
  EXPECT_EQ(hosts(gathering.members()), (Names{"a", "b", "c"}));
  EXPECT_EQ(gathering.newcomers(), 0);
}

}  // namespace
}  // namespace toprun::rendezvous
