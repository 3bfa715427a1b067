#include "rendezvous/gathering.h"

#include <gtest/gtest.h>

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

TEST(Gathering, CompletesWithTheLastOne) {
  Gathering gathering(2);
  EXPECT_FALSE(gathering.admit(agent("a")));
  EXPECT_FALSE(gathering.complete());
  EXPECT_EQ(gathering.missing({"a", "b"}), std::vector<std::string>{"b"});
  EXPECT_FALSE(gathering.admit(agent("b")));
  EXPECT_TRUE(gathering.complete());
}

TEST(Gathering, RefusesByName) {
  struct Case {
    Join second;
    Refusal expected;
  };
  const Case cases[] = {
      {agent("b", 0), Refusal::rank_taken},
      {agent("b", 1, 3), Refusal::job},
  };
  for (const Case& one : cases) {
    Gathering gathering(2);
    ASSERT_FALSE(gathering.admit(agent("a", 0)));
    const auto refused = gathering.admit(one.second);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code, one.expected) << refused->text;
    EXPECT_EQ(gathering.present(), 1);
  }
}

TEST(Gathering, RefusesMoreThanTheJobHas) {
  Gathering gathering(1);
  ASSERT_FALSE(gathering.admit(agent("a")));
  const auto refused = gathering.admit(agent("b"));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, Refusal::full);
}

TEST(Gathering, TheSameRankIsFreeAgainOnceItsHolderLeft) {
  Gathering gathering(2);
  const Join first = agent("a", 0);
  ASSERT_FALSE(gathering.admit(first));
  gathering.forget(first.agent);
  EXPECT_FALSE(gathering.admit(agent("b", 0)));
}

TEST(Gathering, RanksInPlaceShareANodeButNotALocalRank) {
  Gathering gathering(4);
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

}  // namespace
}  // namespace toprun::rendezvous
