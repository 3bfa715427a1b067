#include "placement/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace toprun::placement {
namespace {

using topology::Map;
using topology::Path;

std::vector<Host> hosts_named(const std::vector<std::string>& names, int nproc = 1) {
  std::vector<Host> hosts;
  for (const std::string& name : names) hosts.push_back({name, nproc});
  return hosts;
}

Map map_of(std::vector<std::string> levels,
           const std::vector<std::pair<std::string, Path>>& places) {
  Map map{"test", std::move(levels), {}, {}};
  for (const auto& [host, path] : places) map.hosts.push_back({host, {path, "here", {}}});
  return map;
}

std::vector<std::string> order_of(const Placement& placement) {
  std::vector<std::string> names;
  for (const Node& node : placement.nodes) names.push_back(node.name);
  return names;
}

std::string ring_of(const Placement& placement) {
  std::string text;
  for (const Crossings& ring : placement.ring) {
    text += fmt::format("{} {} {} {};", ring.level, ring.given, ring.ordered, ring.minimum);
  }
  return text;
}

using Names = std::vector<std::string>;

TEST(Order, TheSeedsSample) {
  std::vector<std::pair<std::string, Path>> places;
  const std::string racks = "bdacefbf";
  Names names;
  for (std::size_t i = 0; i < racks.size(); ++i) {
    names.push_back(fmt::format("n{}", i));
    places.push_back({names.back(), {"C", std::string(1, racks[i])}});
  }
  const auto placement = place(hosts_named(names, 8), map_of({"cluster", "rack"}, places));
  ASSERT_TRUE(placement);
  EXPECT_EQ(order_of(*placement), (Names{"n2", "n0", "n6", "n3", "n1", "n4", "n5", "n7"}));
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(placement->nodes[i].first_rank, static_cast<int>(8 * i));
  }
  EXPECT_EQ(ring_of(*placement), "cluster 0 0 0;rack 8 6 6;");
  EXPECT_EQ(placement->nodes[0].index, 2u);
  EXPECT_TRUE(placement->warnings.empty());
}

TEST(Order, IsNaturalInDomainsAndNodes) {
  const auto placement =
      place(hosts_named({"n10", "n9", "m1", "n1"}),
            map_of({"rack"}, {{"n10", {"r10"}}, {"n9", {"r10"}}, {"m1", {"r9"}}, {"n1", {"r10"}}}));
  EXPECT_EQ(order_of(*placement), (Names{"m1", "n1", "n9", "n10"}));
}

TEST(Order, TheSameRackNameInTwoClustersIsTwoRacks) {
  const auto placement = place(
      hosts_named({"a", "b", "c", "d"}),
      map_of({"cluster", "rack"},
             {{"a", {"c1", "r"}}, {"b", {"c2", "r"}}, {"c", {"c1", "r"}}, {"d", {"c2", "r"}}}));
  EXPECT_EQ(order_of(*placement), (Names{"a", "c", "b", "d"}));
  EXPECT_EQ(ring_of(*placement), "cluster 4 2 2;rack 4 2 2;");
}

TEST(Order, UnknownLevelsStayInsideTheirKnownDomainAndCountAlone) {
  const auto placement = place(hosts_named({"a", "b", "c", "d"}),
                               map_of({"cluster", "rack"}, {{"a", {"c1", std::nullopt}},
                                                            {"b", {"c2", "r"}},
                                                            {"c", {"c1", std::nullopt}},
                                                            {"d", {"c1", "r"}}}));
  EXPECT_EQ(order_of(*placement), (Names{"d", "a", "c", "b"}));
  EXPECT_EQ(ring_of(*placement), "cluster 2 2 2;rack 4 4 4;");
}

TEST(Order, NodesWithoutEvidenceComeLastAsGiven) {
  const auto placement = place(
      {{"z", 2}, {"b", 4}, {"y", 1}, {"a", 3}},
      map_of({"rack"}, {{"a", {"r"}}, {"b", {"r"}}, {"y", {std::nullopt}}, {"other", {"r"}}}));
  ASSERT_TRUE(placement);
  EXPECT_EQ(order_of(*placement), (Names{"a", "b", "z", "y"}));
  EXPECT_EQ(placement->unplaced, (Names{"z", "y"}));
  EXPECT_EQ(placement->warnings,
            Names{"test does not say where z,y are: placed last, each as if alone"});
  EXPECT_EQ(ring_of(*placement), "rack 4 3 3;");
  EXPECT_EQ(placement->nodes[2].first_rank, 7);
  EXPECT_EQ(placement->nodes[2].location.path, Path{std::nullopt});
  EXPECT_FALSE(placement->nodes[2].placed);
}

TEST(Order, WithoutEvidenceItIsAsGiven) {
  const auto placement = place(hosts_named({"b", "a"}), Map{});
  EXPECT_EQ(order_of(*placement), (Names{"b", "a"}));
  EXPECT_EQ(ring_of(*placement), "");
  EXPECT_TRUE(placement->warnings.empty());
}

TEST(Order, SmallRings) {
  const Map map = map_of({"rack"}, {{"a", {"r1"}}, {"b", {"r2"}}, {"c", {"r1"}}});
  EXPECT_EQ(ring_of(*place({}, map)), "rack 0 0 0;");
  EXPECT_EQ(ring_of(*place(hosts_named({"a"}), map)), "rack 0 0 0;");
  EXPECT_EQ(ring_of(*place(hosts_named({"x"}), map)), "rack 0 0 0;");
  EXPECT_EQ(ring_of(*place(hosts_named({"a", "c"}), map)), "rack 0 0 0;");
  EXPECT_EQ(ring_of(*place(hosts_named({"a", "b"}), map)), "rack 2 2 2;");
}

TEST(Order, TwoAgentsOnOneHostStandTogether) {
  const auto placement =
      place(hosts_named({"b", "a", "b"}), map_of({"rack"}, {{"a", {"r2"}}, {"b", {"r1"}}}));
  EXPECT_EQ(order_of(*placement), (Names{"b", "b", "a"}));
  EXPECT_EQ(placement->nodes[1].index, 2u);
}

TEST(Order, ByNameAndAsGiven) {
  const Map map = map_of({"rack"}, {{"n2", {"r1"}}, {"n10", {"r1"}}, {"n9", {"r2"}}});
  const auto hosts = hosts_named({"n9", "n10", "n2"});
  EXPECT_EQ(order_of(*place(hosts, map, Order::name)), (Names{"n2", "n9", "n10"}));
  EXPECT_EQ(ring_of(*place(hosts, map, Order::name)), "rack 2 2 2;");
  EXPECT_EQ(order_of(*place(hosts, map, Order::given)), (Names{"n9", "n10", "n2"}));
}

TEST(Order, AsListedInAFile) {
  const Map map = map_of({"rack"}, {{"n0", {"r1"}}});
  const auto hosts = hosts_named({"n0", "n1", "n2.c"});
  const auto placement = place_as_listed(hosts, map, "# mine\nn1\n n[2,0] # rest\n", "o.txt");
  ASSERT_TRUE(placement) << placement.error().line();
  EXPECT_EQ(order_of(*placement), (Names{"n1", "n2.c", "n0"}));

  const std::vector<std::pair<std::string, std::string>> rows = {
      {"n0\nn1\n", "o.txt lacks 1 of the job's hosts: n2.c; add them to the order"},
      {"n[0-2]\nn7\n", "o.txt:2: host n7 is not in the job; remove it"},
      {"n0\nn[0-2]\n", "o.txt:2: host n0 stands here for the second time, first at o.txt:1"},
      {"n0\nn[1-\n", "o.txt:2:2: '[' is never closed"},
  };
  for (const auto& [text, expected] : rows) {
    const auto refused = place_as_listed(hosts, map, text, "o.txt");
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().line().find(expected), 0u) << refused.error().line();
  }
}

TEST(Order, RefusesMoreRanksThanAnIntegerHolds) {
  EXPECT_FALSE(place(hosts_named({"a", "b"}, 2'000'000'000), Map{}));
  EXPECT_FALSE(place({{"a", -1}}, Map{}));
}

// The ring's crossings of one level, counted without any of the code under test.
std::size_t crossings(const std::vector<const Path*>& ring, std::size_t level) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const Path* a = ring[i];
    const Path* b = ring[(i + 1) % ring.size()];
    if (a == b) continue;
    const bool same =
        a && b && (*a)[level] && (*b)[level] &&
        std::equal(a->begin(), a->begin() + static_cast<std::ptrdiff_t>(level) + 1, b->begin());
    if (!same) ++count;
  }
  return count;
}

// Every order of up to seven nodes in random trees with unknown levels and unplaced nodes: what
// `minimum` says is what the best order of each level has, and ours has it at every level at once.
TEST(Order, NoOrderCrossesLess) {
  std::mt19937 random(20261121);
  for (int round = 0; round < 120; ++round) {
    const std::size_t count = 1 + random() % 7;
    const std::size_t depth = 1 + random() % 3;
    std::vector<Path> paths;
    Map map{"test", std::vector<std::string>(depth, "l"), {}, {}};
    Names names;
    for (std::size_t i = 0; i < count; ++i) {
      Path path;
      for (std::size_t level = 0; level < depth; ++level) {
        const auto pick = random() % 4;
        path.push_back(pick == 3 ? std::nullopt : std::optional(fmt::format("d{}", pick)));
      }
      if (random() % 8 == 0) path.assign(depth, std::nullopt);
      paths.push_back(path);
      names.push_back(fmt::format("n{}", i));
      map.hosts.push_back({names.back(), {path, "here", {}}});
    }
    const auto placement = place(hosts_named(names), map);
    ASSERT_TRUE(placement);

    std::vector<std::size_t> best(depth, count);
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    do {
      std::vector<const Path*> ring;
      for (const std::size_t i : order) ring.push_back(&paths[i]);
      for (std::size_t level = 0; level < depth; ++level) {
        best[level] = std::min(best[level], crossings(ring, level));
      }
    } while (std::ranges::next_permutation(order).found);

    std::vector<const Path*> ours;
    for (const Node& node : placement->nodes) ours.push_back(&paths[node.index]);
    for (std::size_t level = 0; level < depth; ++level) {
      EXPECT_EQ(placement->ring[level].minimum, best[level]) << "round " << round;
      EXPECT_EQ(placement->ring[level].ordered, best[level]) << "round " << round;
      EXPECT_EQ(crossings(ours, level), best[level]) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace toprun::placement
