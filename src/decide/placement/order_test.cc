#include "decide/placement/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <set>

#include "base/os/os_testing.h"
#include "decide/placement/placement_testing.h"

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
  EXPECT_EQ(names_in_order(*placement), (Names{"n2", "n0", "n6", "n3", "n1", "n4", "n5", "n7"}));
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
  EXPECT_EQ(names_in_order(*placement), (Names{"m1", "n1", "n9", "n10"}));
}

TEST(Order, TheSameRackNameInTwoClustersIsTwoRacks) {
  const auto placement = place(
      hosts_named({"a", "b", "c", "d"}),
      map_of({"cluster", "rack"},
             {{"a", {"c1", "r"}}, {"b", {"c2", "r"}}, {"c", {"c1", "r"}}, {"d", {"c2", "r"}}}));
  EXPECT_EQ(names_in_order(*placement), (Names{"a", "c", "b", "d"}));
  EXPECT_EQ(ring_of(*placement), "cluster 4 2 2;rack 4 2 2;");
}

TEST(Order, UnknownLevelsStayInsideTheirKnownDomainAndCountAlone) {
  const auto placement = place(hosts_named({"a", "b", "c", "d"}),
                               map_of({"cluster", "rack"}, {{"a", {"c1", std::nullopt}},
                                                            {"b", {"c2", "r"}},
                                                            {"c", {"c1", std::nullopt}},
                                                            {"d", {"c1", "r"}}}));
  EXPECT_EQ(names_in_order(*placement), (Names{"d", "a", "c", "b"}));
  EXPECT_EQ(ring_of(*placement), "cluster 2 2 2;rack 4 4 4;");
}

TEST(Order, NodesWithoutEvidenceComeLastAsGiven) {
  const auto placement = place(
      {{"z", 2}, {"b", 4}, {"y", 1}, {"a", 3}},
      map_of({"rack"}, {{"a", {"r"}}, {"b", {"r"}}, {"y", {std::nullopt}}, {"other", {"r"}}}));
  ASSERT_TRUE(placement);
  EXPECT_EQ(names_in_order(*placement), (Names{"a", "b", "z", "y"}));
  EXPECT_EQ(placement->unplaced, (Names{"z", "y"}));
  EXPECT_EQ(placement->warnings, Names{"test does not know where z,y are: toprun places such nodes "
                                       "last, each in a separate domain"});
  EXPECT_EQ(ring_of(*placement), "rack 4 3 3;");
  EXPECT_EQ(placement->nodes[2].first_rank, 7);
  EXPECT_EQ(placement->nodes[2].location.path, Path{std::nullopt});
  EXPECT_FALSE(placement->nodes[2].placed);
}

TEST(Order, WithoutEvidenceItIsAsGiven) {
  const auto placement = place(hosts_named({"b", "a"}), Map{});
  EXPECT_EQ(names_in_order(*placement), (Names{"b", "a"}));
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
  EXPECT_EQ(names_in_order(*placement), (Names{"b", "b", "a"}));
  EXPECT_EQ(placement->nodes[1].index, 2u);
}

TEST(Order, ByNameAndAsGiven) {
  const Map map = map_of({"rack"}, {{"n2", {"r1"}}, {"n10", {"r1"}}, {"n9", {"r2"}}});
  const auto hosts = hosts_named({"n9", "n10", "n2"});
  EXPECT_EQ(names_in_order(*place(hosts, map, {.order = Order::name})), (Names{"n2", "n9", "n10"}));
  EXPECT_EQ(ring_of(*place(hosts, map, {.order = Order::name})), "rack 2 2 2;");
  EXPECT_EQ(names_in_order(*place(hosts, map, {.order = Order::torchrun})),
            (Names{"n10", "n2", "n9"}));
  EXPECT_EQ(names_in_order(*place(hosts, map, {.order = Order::given})),
            (Names{"n9", "n10", "n2"}));
}

// Steps between hosts of a branch without a level stay inside the domain around them.
TEST(Order, AStepWithoutALevelCrossesNone) {
  const auto none = topology::Domain::none();
  const Map map = map_of({"core", "spine", "leaf"}, {{"n0", {"c", none, "s0"}},
                                                     {"n1", {"c", "p", "s1"}},
                                                     {"n2", {"c", none, "s0"}},
                                                     {"n3", {"c", none, "s3"}},
                                                     {"n4", {"c", "p", "s1"}}});
  const auto placement = place(hosts_named({"n0", "n1", "n2", "n3", "n4"}), map);
  ASSERT_TRUE(placement);
  EXPECT_EQ(names_in_order(*placement), (Names{"n1", "n4", "n0", "n2", "n3"}));
  EXPECT_EQ(ring_of(*placement), "core 0 0 0;spine 4 2 2;leaf 5 3 3;");
  // The same for an unknown level: each host counts as alone, behind those with a known domain.
  Map unknown = map;
  for (auto& entry : unknown.hosts) {
    if (entry.location.path[1].is_none()) entry.location.path.set(1, std::nullopt);
  }
  EXPECT_EQ(ring_of(*place(hosts_named({"n0", "n1", "n2", "n3", "n4"}), unknown)),
            "core 0 0 0;spine 5 4 4;leaf 5 3 3;");
  // Both in one place: hosts without a domain come before those with an unknown domain.
  Map both = map;
  both.hosts[0].location.path.set(1, std::nullopt);
  EXPECT_EQ(names_in_order(*place(hosts_named({"n0", "n1", "n2", "n3", "n4"}), both)),
            (Names{"n1", "n4", "n2", "n3", "n0"}));
}

// The rows of a torus and a ring are in serpentine order, not in the order of names.
TEST(Order, SeatsGoBeforeNames) {
  std::vector<std::pair<std::string, Path>> places;
  const std::vector<std::tuple<std::string, std::string, std::size_t>> seats = {
      {"n0", "y0", 1}, {"n1", "y0", 2}, {"n2", "y1", 4}, {"n3", "y1", 3}, {"n4", "y2", 5}};
  for (const auto& [name, row, seat] : seats) {
    Path path = {"t", row};
    path.set_seat(seat);
    places.emplace_back(name, path);
  }
  const Map map = map_of({"torus", "row"}, places);
  EXPECT_EQ(names_in_order(*place(hosts_named({"n4", "n3", "n2", "n1", "n0"}), map)),
            (Names{"n0", "n1", "n3", "n2", "n4"}));
  Map backwards = map;
  for (auto& entry : backwards.hosts) {
    entry.location.path.set_seat(10 - entry.location.path.seat());
  }
  EXPECT_EQ(names_in_order(*place(hosts_named({"n4", "n3", "n2", "n1", "n0"}), backwards)),
            (Names{"n4", "n2", "n3", "n1", "n0"}));
}

// The output of `topo order --format` for other programs is also a valid order.
TEST(Order, ReadsItsOwnForms) {
  const std::vector<std::string> forms = {
      "n1\nn0\nn2\n", "n1 slots=2\nn0 slots=2\nn2 slots=2\n", "n1\nn1\nn0\nn0\nn2\nn2\n",
      "rank 0=n1 slot=0\nrank 1=n1 slot=1\nrank 2=n0 slot=0\nrank 3=n2 slot=0\n",
      "[\"n1\", \"n0\", \"n2\"]\n"};
  for (const std::string& form : forms) {
    const auto names = read_order(form, "o.txt");
    ASSERT_TRUE(names) << form << names.error().line();
    EXPECT_EQ(*names, (Names{"n1", "n0", "n2"})) << form;
  }
  EXPECT_EQ(read_order("rank 0=n[1- slot=0\n", "o.txt").error().line().substr(0, 10), "o.txt:1:9:");
}

TEST(Order, AsListedInAFile) {
  const Map map = map_of({"rack"}, {{"n0", {"r1"}}});
  const auto hosts = hosts_named({"n0", "n1", "n2.c"});
  const auto placement = place_as_listed(hosts, map, "# mine\nn1\n n[2,0] # rest\n", "o.txt");
  ASSERT_TRUE(placement) << placement.error().line();
  EXPECT_EQ(names_in_order(*placement), (Names{"n1", "n2.c", "n0"}));

  const std::vector<std::pair<std::string, std::string>> rows = {
      {"n0\nn1\n", "o.txt lacks 1 of the job's hosts: n2.c; add these hosts to the order"},
      {"n[0-2]\nn7\n", "o.txt:2: host n7 is not in the job; remove this host"},
      {"n0\nn[0-2]\n", "o.txt:2: host n0 appears twice, first at o.txt:1"},
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

// A job in a random network. The hosts n0, n1 … are in `paths`. There are few domain names, so many
// hosts share one; levels may be unknown and hosts without a place.
struct RandomJob {
  std::size_t levels = 0;
  std::vector<Path> paths;
  std::vector<Host> hosts;
  Map map;
};

RandomJob random_job(std::mt19937& random, std::size_t nodes) {
  RandomJob job;
  job.levels = 1 + random() % 4;
  const auto domains = 1 + random() % 4;  // per domain
  const auto one_unknown_in = 2 + random() % 12;
  job.map = {"test", std::vector<std::string>(job.levels, "l"), {}, {}};
  for (std::size_t i = 0; i < nodes; ++i) {
    Path path;
    for (std::size_t level = 0; level < job.levels; ++level) {
      const bool unknown = random() % one_unknown_in == 0;
      path.push_back(unknown ? std::nullopt
                             : std::optional(fmt::format("d{}", random() % domains)));
    }
    if (random() % 10 == 0) path = Path(job.levels);
    job.hosts.push_back({fmt::format("n{}", i), 1});
    job.map.hosts.push_back({job.hosts.back().name, {path, "here", {}}});
    job.paths.push_back(std::move(path));
  }
  std::ranges::shuffle(job.map.hosts, random);
  return job;
}

// Counts without the tested code.
bool share(const Path& a, const Path& b, std::size_t level) {
  const auto inner = static_cast<std::ptrdiff_t>(level) + 1;
  return a[level] && b[level] && std::equal(a.begin(), a.begin() + inner, b.begin());
}

std::size_t crossings(const RandomJob& job, const Placement& placement, std::size_t level) {
  std::size_t count = 0;
  const auto& nodes = placement.nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::size_t a = nodes[i].index;
    const std::size_t b = nodes[(i + 1) % nodes.size()].index;
    if (a != b && !share(job.paths[a], job.paths[b], level)) ++count;
  }
  return count;
}

// The minimum number of crossings at each level among all rings, found by trying all. A ring has no
// first node and no direction, so node 0 is always first and its left neighbour is after its right
// one.
std::vector<std::size_t> fewest_of_all_rings(const RandomJob& job) {
  constexpr std::size_t most = 8;
  const std::size_t count = job.paths.size();
  std::array<std::array<std::uint32_t, most>, most> cost{};  // a byte per level
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b < count; ++b) {
      for (std::size_t level = 0; a != b && level < job.levels; ++level) {
        if (!share(job.paths[a], job.paths[b], level)) cost[a][b] += 1u << (8 * level);
      }
    }
  }
  std::vector<std::size_t> best(job.levels, count);
  std::array<std::size_t, most> ring{};
  std::iota(ring.begin(), ring.end(), std::size_t{0});
  const auto end = ring.begin() + static_cast<std::ptrdiff_t>(count);
  do {
    if (count > 2 && ring[1] > ring[count - 1]) continue;
    std::uint32_t sum = cost[ring[count - 1]][ring[0]];
    for (std::size_t i = 1; i < count; ++i) sum += cost[ring[i - 1]][ring[i]];
    for (std::size_t level = 0; level < job.levels; ++level) {
      best[level] = std::min<std::size_t>(best[level], (sum >> (8 * level)) & 0xff);
    }
  } while (std::next_permutation(ring.begin() + 1, end));
  return best;
}

TEST(Order, IsTheBestOfAllOrdersAtEveryLevelAtOnce) {
  std::mt19937 random(20261121);
  for (int round = 0; round < tried(10'000); ++round) {
    const RandomJob job = random_job(random, 1 + random() % 8);
    const auto placement = place(job.hosts, job.map);
    ASSERT_TRUE(placement);
    const auto best = fewest_of_all_rings(job);
    for (std::size_t level = 0; level < job.levels; ++level) {
      ASSERT_EQ(crossings(job, *placement, level), best[level]) << "round " << round;
      ASSERT_EQ(placement->ring[level].ordered, best[level]) << "round " << round;
      ASSERT_EQ(placement->ring[level].minimum, best[level]) << "round " << round;
    }
  }
}

// The number of crossings of any ring is at least the number of domains, where each node with an
// unknown domain counts as one.
std::size_t bound(const RandomJob& job, std::size_t level) {
  std::set<Path> domains;
  std::size_t alone = 0;
  for (const Path& path : job.paths) {
    if (path[level]) {
      domains.emplace(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(level) + 1);
    } else {
      ++alone;
    }
  }
  const std::size_t count = domains.size() + alone;
  return count < 2 ? 0 : count;
}

TEST(Order, ReachesTheBoundWithManyNodes) {
  std::mt19937 random(11);
  for (int round = 0; round < tried(200); ++round) {
    const RandomJob job = random_job(random, 9 + random() % 1500);
    const auto placement = place(job.hosts, job.map);
    ASSERT_TRUE(placement);
    for (std::size_t level = 0; level < job.levels; ++level) {
      ASSERT_EQ(crossings(job, *placement, level), bound(job, level)) << "round " << round;
      ASSERT_EQ(placement->ring[level].minimum, bound(job, level)) << "round " << round;
    }
  }
}

TEST(Order, DoesNotDependOnHowTheHostsWereGiven) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    RandomJob job = random_job(random, 1 + random() % 40);
    std::erase_if(job.hosts, [&](const Host& host) {
      return !job.paths[static_cast<std::size_t>(std::stoi(host.name.substr(1)))].known();
    });
    const auto first = place(job.hosts, job.map);
    std::ranges::shuffle(job.hosts, random);
    EXPECT_EQ(names_in_order(*first), names_in_order(*place(job.hosts, job.map)))
        << "round " << round;
  }
}

}  // namespace
}  // namespace toprun::placement
