#include <gtest/gtest.h>

#include <map>

#include "run/conductor/staging.h"

namespace toprun::run {
namespace {

using Upstreams = std::vector<std::vector<std::size_t>>;

TEST(Chain, OneNodeNeedsNobody) {
  EXPECT_EQ(upstreams_of({"/c/r0"}, 0), Upstreams({{}}));
}

TEST(Chain, EachTakesFromTheOneBeforeIt) {
  const std::vector<std::string> racks = {"/c/a", "/c/a", "/c/b", "/c/b"};
  EXPECT_EQ(upstreams_of(racks, 0), Upstreams({{}, {0}, {1, 0}, {2, 1, 0}}));
}

TEST(Chain, TheSourcesOwnRackComesFirst) {
  const std::vector<std::string> racks = {"/c/a", "/c/a", "/c/b", "/c/b"};
  // 1 → 0 → 2 → 3
  EXPECT_EQ(upstreams_of(racks, 1), Upstreams({{1}, {}, {0, 1}, {2, 0, 1}}));
  // 3 → 2 → 0 → 1
  EXPECT_EQ(upstreams_of(racks, 3), Upstreams({{2, 3}, {0, 2, 3}, {3}, {}}));
}

TEST(Chain, NamesAFewPredecessorsAndTheSource) {
  const auto upstreams = upstreams_of(std::vector<std::string>(100), 0);
  EXPECT_EQ(upstreams[99], std::vector<std::size_t>({98, 97, 96, 0}));
  EXPECT_EQ(upstreams[2], std::vector<std::size_t>({1, 0}));
}

// In a tree of two levels, wherever the source sits.
TEST(Chain, EveryUplinkCarriesItOnceInEachDirection) {
  std::vector<std::string> places;
  for (const char* spine : {"s0", "s1", "s2"}) {
    for (const char* leaf : {"a", "b"}) {
      for (int host = 0; host < 3; ++host) {
        places.push_back(std::string("/") + spine + "/" + spine + leaf);
      }
    }
  }
  for (std::size_t source = 0; source < places.size(); ++source) {
    std::map<std::string, int> up, down;
    const auto upstreams = upstreams_of(places, source);
    for (std::size_t node = 0; node < places.size(); ++node) {
      if (node == source) continue;
      const std::string& from = places[upstreams[node].front()];
      const std::string& to = places[node];
      if (from != to) ++up[from], ++down[to];
      if (from.substr(0, 3) != to.substr(0, 3)) ++up[from.substr(0, 3)], ++down[to.substr(0, 3)];
    }
    for (const auto& [domain, times] : up) EXPECT_LE(times, 1) << domain << " from " << source;
    for (const auto& [domain, times] : down) EXPECT_LE(times, 1) << domain << " from " << source;
  }
}

}  // namespace
}  // namespace toprun::run
