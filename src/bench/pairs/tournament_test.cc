#include "bench/pairs/tournament.h"

#include <gtest/gtest.h>

#include <set>

namespace toprun::pairs {
namespace {

// Nodes of a round, or nothing where one is in two pairs or a pair is written the wrong way round.
std::set<std::size_t> players(const Round& round) {
  std::set<std::size_t> out;
  for (const auto& [a, b] : round) {
    if (a >= b || !out.insert(a).second || !out.insert(b).second) return {};
  }
  return out;
}

std::size_t pairs_of(std::size_t nodes) {
  return nodes < 2 ? 0 : nodes * (nodes - 1) / 2;
}

TEST(Tournament, EveryTwoNodesMeetOnce) {
  for (std::size_t nodes = 0; nodes <= 65; ++nodes) {
    const std::vector<Round> rounds = tournament(nodes);
    EXPECT_EQ(rounds.size(), nodes < 2 ? 0 : nodes % 2 == 0 ? nodes - 1 : nodes);
    std::set<Pair> met;
    for (const Round& round : rounds) {
      EXPECT_EQ(players(round).size(), nodes - nodes % 2) << nodes;
      for (const Pair& pair : round) EXPECT_TRUE(met.insert(pair).second);
    }
    EXPECT_EQ(met.size(), pairs_of(nodes));
    EXPECT_TRUE(met.empty() || met.rbegin()->b == nodes - 1);
  }
}

TEST(Tournament, LeavesOutRoundsEvenly) {
  const std::vector<Round> rounds = tournament(1000, 10);
  ASSERT_EQ(rounds.size(), 10u);
  std::set<Pair> met;
  std::size_t far = 0;
  for (const Round& round : rounds) {
    EXPECT_EQ(players(round).size(), 1000u);
    for (const Pair& pair : round) {
      EXPECT_TRUE(met.insert(pair).second);
      far += pair.a == 0 && pair.b > 100 ? 1 : 0;
    }
  }
  EXPECT_GE(far, 8u);
  EXPECT_EQ(tournament(8, 0).size(), 0u);
  EXPECT_EQ(tournament(8, 100).size(), 7u);
}

struct Case {
  const char* about;
  std::vector<DomainPath> places;
  std::vector<std::pair<std::size_t, std::size_t>> shared_and_rounds;  // per batch
};

std::vector<DomainPath> racks(std::size_t count, std::size_t nodes_each) {
  std::vector<DomainPath> out;
  for (std::size_t i = 0; i < count * nodes_each; ++i) {
    out.push_back({"r" + std::to_string(i / nodes_each)});
  }
  return out;
}

TEST(Batches, FromTheLeafOutwards) {
  const Case cases[] = {
      {"nothing known", std::vector<DomainPath>(6), {{0, 5}}},
      {"nobody", {}, {}},
      {"one node", {{"r1"}}, {}},
      {"two racks", racks(2, 3), {{1, 3}, {0, 3}}},
      {"four racks", racks(4, 8), {{1, 7}, {0, 24}}},
      {"nodes alone in their racks", racks(4, 1), {{0, 3}}},
      {"pods", {{"p1", "r1"}, {"p1", "r1"}, {"p1", "r2"}, {"p2", "r1"}}, {{2, 1}, {1, 2}, {0, 3}}},
      {"places of two depths", {{"p1", "r1"}, {"p1"}, {"p1"}, {}}, {{1, 3}, {0, 3}}},
  };
  for (const auto& [about, places, expected] : cases) {
    std::set<Pair> met;
    std::vector<std::pair<std::size_t, std::size_t>> found;
    for (const Batch& batch : batches(places)) {
      found.emplace_back(batch.shared, batch.rounds.size());
      for (const Round& round : batch.rounds) {
        EXPECT_FALSE(players(round).empty()) << about;
        for (const Pair& pair : round) EXPECT_TRUE(met.insert(pair).second) << about;
      }
    }
    EXPECT_EQ(found, expected) << about;
    EXPECT_EQ(met.size(), pairs_of(places.size())) << about;
  }
}

TEST(Batches, LoadUplinksAlike) {
  const std::vector<Batch> all = batches(racks(4, 8));
  for (const Round& round : all.back().rounds) EXPECT_EQ(round.size(), 16u);
}

TEST(Batches, AreCutToo) {
  for (const Batch& batch : batches(racks(4, 8), 5)) EXPECT_EQ(batch.rounds.size(), 5u);
}

}  // namespace
}  // namespace toprun::pairs
