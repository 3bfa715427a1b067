#include "placement/cost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>

#include "base/text.h"
#include "placement/order.h"

namespace toprun::placement {
namespace {

using topology::Path;
using Indexes = std::vector<std::size_t>;

// Nodes with a letter for the domain of each level, outermost first, as in "ap aq bp"; "-":
// unknown, "." none.
struct Sample {
  std::vector<std::string> levels;
  std::string nodes;
  LinksByLevel links;
  int processes = 1;
};

topology::Map map_of(const Sample& sample) {
  topology::Map map;
  map.levels = sample.levels;
  for (const std::string_view word : words(sample.nodes)) {
    Path path;
    for (const char c : word) {
      path.push_back(c == '-'   ? topology::Domain()
                     : c == '.' ? topology::Domain::none()
                                : topology::Domain(std::string(1, c)));
    }
    map.hosts.push_back({fmt::format("n{}", map.hosts.size()), {std::move(path), "here", {}}});
  }
  return map;
}

Network network_of(const Sample& sample) {
  const topology::Map map = map_of(sample);
  std::vector<const Path*> paths;
  for (const auto& entry : map.hosts) paths.push_back(&entry.location.path);
  return {Domains(paths, map.levels.size()), paths.size(),
          *links_of(map, sample.links, sample.processes)};
}

Indexes in_order(std::size_t count) {
  Indexes order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

// "1.2345 s, rack of n0: 2 flows, 28000000 bytes".
std::string text_of(const Network& network, const Cost& cost) {
  if (!cost.worst) return fmt::format("{:.6g} s", cost.seconds);
  return fmt::format("{:.6g} s, {} of n{}: {} flows, {:.0f} bytes", cost.seconds,
                     network.link(cost.worst->level).name, cost.worst->node, cost.worst->flows,
                     cost.worst->bytes);
}

// 8 MB over 8 nodes: an edge of the ring carries 14 · 1 MB in all. Uplinks of 100 Mbit/s; 6 µs for
// each of 14 steps, as host and rack assume. Worked out by hand.
// There is no uplink at a level that hosts have not.
TEST(Cost, ALevelThatIsNotThereCarriesNothing) {
  const Sample sample{{"spine", "leaf"}, ".a .a .b pc", {{"spine", {1, {}}}, {"leaf", {100, {}}}}};
  const Network network = network_of(sample);
  const auto ring = cost_of(Collective::ring, network, in_order(4), 1e6);
  ASSERT_TRUE(ring.worst);
  EXPECT_EQ(ring.worst->level, 0u);
  EXPECT_EQ(ring.worst->node, 3u);
  EXPECT_EQ(ring.worst->flows, 1u);
  const Sample without{{"spine", "leaf"}, ".a .a .b .c", {{"spine", {1, {}}}, {"leaf", {100, {}}}}};
  const Network flat = network_of(without);
  EXPECT_FALSE(flat.divides(in_order(4), 0));
  for (const auto collective : {Collective::ring, Collective::tree, Collective::all_to_all}) {
    const auto cost = cost_of(collective, flat, in_order(4), 1e6);
    ASSERT_TRUE(cost.worst);
    EXPECT_EQ(cost.worst->level, 1u);
    EXPECT_LE(least_seconds(collective, flat, in_order(4), 1e6), cost.seconds * 1.000001);
  }
}

// Hosts without NVLink share none.
TEST(Cost, NoNvlinkIsNoNvlinkDomain) {
  const Network network = network_of({{"nvlink"}, "a a . .", {}});
  EXPECT_TRUE(network.by_nvlink(0, 1));
  EXPECT_FALSE(network.by_nvlink(2, 3));
}

TEST(Cost, Table) {
  const LinksByLevel slow_racks = {{"rack", {0.1, {}}}};
  const std::vector<std::string> rack = {"rack"};
  struct Case {
    Collective collective;
    Sample sample;
    std::string cost;
    std::string least;
  };
  using enum Collective;
  for (const auto& [collective, sample, cost, least] : std::vector<Case>{
           // Two racks: all eight neighbours cross, four from each rack; sorted, one from each.
           {ring,
            {rack, "a b a b a b a b", slow_racks},
            "4.48008 s, rack of n0: 4 flows, 56000000 bytes",
            "1.12008 s"},
           {ring,
            {rack, "a a a a b b b b", slow_racks},
            "1.12008 s, rack of n0: 1 flows, 14000000 bytes",
            "1.12008 s"},
           {ring,
            {rack, "a a b b a b a b", slow_racks},
            "3.36008 s, rack of n0: 3 flows, 42000000 bytes",
            "1.12008 s"},
           // Four racks of two.
           {ring,
            {rack, "a b c d a b c d", slow_racks},
            "2.24008 s, rack of n0: 2 flows, 28000000 bytes",
            "1.12008 s"},
           // One rack: nobody leaves it; 400 Gbit/s adapters, 5 µs.
           {ring,
            {rack, "a a a a a a a a", slow_racks},
            "0.00035 s, host of n0: 1 flows, 14000000 bytes",
            "0.00035 s"},
           // A rack that is not told is no bottleneck.
           {ring,
            {rack, "a b a b a b a b", {}},
            "0.000364 s, host of n0: 1 flows, 14000000 bytes",
            "0.000364 s"},
           // Both levels count; the spine is narrower for what it carries.
           {ring,
            {{"spine", "rack"},
             "ap bq ap bq ar bs ar bs",
             {{"spine", {0.1, 10.0}}, {"rack", {0.1, 20.0}}}},
            "4.48049 s, spine of n0: 4 flows, 56000000 bytes",
            "1.12049 s"},
           // Nobody knows the racks of two: each is alone.
           {ring,
            {rack, "a - a - b b b b", slow_racks},
            "2.24008 s, rack of n0: 2 flows, 28000000 bytes",
            "1.12008 s"},
           // The same rack of a spine that is not known: they share that spine too.
           {ring,
            {{"spine", "rack"}, "-p -p", {{"spine", {0.1, {}}}}},
            "0.00017 s, host of n0: 1 flows, 8000000 bytes",
            "0.00017 s"},
           // NVLink pairs: half of the edges need no adapter, but each adapter that is used carries
           // what NVLink does, and its rack's uplink 1 flow, not 2.
           {ring,
            {{"rack", "nvlink"}, "ap ap aq aq bp bp bq bq", slow_racks},
            "1.12008 s, rack of n0: 1 flows, 14000000 bytes",
            "1.12008 s"},
           // Inside one NVLink domain the racks' uplinks do not matter: 7.2 Tbit/s, 2 µs.
           {ring,
            {{"nvlink", "rack"}, "ap aq ap aq ap aq ap aq", slow_racks},
            "4.35556e-05 s, nvlink of n0: 1 flows, 14000000 bytes",
            "4.35556e-05 s"},
           // Two flows of 8 MB, one each way.
           {ring,
            {rack, "a b", slow_racks},
            "0.640012 s, rack of n0: 1 flows, 8000000 bytes",
            "0.640012 s"},
           {ring, {rack, "a", slow_racks}, "0 s", "0 s"},

           // Edges 2-4, 4-0 of one tree and 5-3, 3-7 of the other; 4 MB each way over each, and no
           // single edge cuts off four of eight. Six steps of 6 µs.
           {tree,
            {rack, "a a a a b b b b", slow_racks},
            "1.28004 s, rack of n0: 4 flows, 16000000 bytes",
            "1.28004 s"},
           // Odd positions are leaves of the first tree and all hang on even ones: 4 edges; 2-4,
           // 6-4
           // and 4-0 do not cross. As many in the other.
           {tree,
            {rack, "a b a b a b a b", slow_racks},
            "2.56004 s, rack of n0: 8 flows, 32000000 bytes",
            "1.28004 s"},
           // One rack: four neighbours in both trees at the most.
           {tree,
            {rack, "a a a a a a a a", slow_racks},
            "0.00035 s, host of n1: 4 flows, 16000000 bytes",
            "0.00035 s"},
           {tree,
            {{"nvlink"}, "a a a a a a a a", {}},
            "2.97778e-05 s, nvlink of n1: 4 flows, 16000000 bytes",
            "2.97778e-05 s"},

           // 4 nodes send 1 MB to each of 4 others; 7 steps.
           {all_to_all,
            {rack, "a a a a b b b b", slow_racks},
            "1.28004 s, rack of n0: 16 flows, 16000000 bytes",
            "1.28004 s"},
           {all_to_all,
            {rack, "a b a b a b a b", slow_racks},
            "1.28004 s, rack of n0: 16 flows, 16000000 bytes",
            "1.28004 s"},
           {all_to_all,
            {rack, "a b b b b b b b", slow_racks},
            "0.560042 s, rack of n0: 7 flows, 7000000 bytes",
            "0.560042 s"},
           {all_to_all,
            {{"rack", "nvlink"}, "ap ap aq aq bp bp bq bq", {}},
            "0.000162 s, host of n0: 6 flows, 6000000 bytes",
            "0.000162 s"},
           // A rack of two inside an NVLink domain of four: they send 1 MB to each of four others.
           {all_to_all,
            {{"nvlink", "rack"}, "ap ap aq aq bp bp bq bq", slow_racks},
            "0.640042 s, rack of n0: 8 flows, 8000000 bytes",
            "0.640042 s"},
       }) {
    const Network network = network_of(sample);
    const Indexes order = in_order(network.nodes());
    EXPECT_EQ(text_of(network, cost_of(collective, network, order, 8e6)), cost) << sample.nodes;
    EXPECT_EQ(fmt::format("{:.6g} s", least_seconds(collective, network, order, 8e6)), least)
        << sample.nodes;
  }
}

TEST(Cost, CountsOnlyTheNodesOfTheOrder) {
  const Network network = network_of({{"rack"}, "a a b b b", {{"rack", {1.0, {}}}}});
  EXPECT_EQ(text_of(network, cost_of(Collective::all_to_all, network, Indexes{0, 2, 4}, 3e6)),
            "0.016012 s, rack of n0: 2 flows, 2000000 bytes");
  EXPECT_EQ(text_of(network, cost_of(Collective::ring, network, Indexes{2, 4, 3}, 3e6)),
            "0.0001 s, host of n2: 1 flows, 4000000 bytes");
}

TEST(Loads, EachDirectionByItself) {
  const Network network = network_of({{"rack"}, "a b c", {{"rack", {1.0, {}}}}});
  Loads loads(network);
  EXPECT_FALSE(loads.worst());
  loads.add(0, 1, 100);
  loads.add(1, 0, 100);
  EXPECT_EQ(loads.worst()->bytes, 100);
  loads.add(2, 1, 50);  // into n1's rack
  EXPECT_EQ(loads.worst()->node, 1u);
  EXPECT_EQ(loads.worst()->flows, 2u);
  EXPECT_EQ(loads.worst()->bytes, 150);
}

TEST(Loads, AllPairsAreThePairs) {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    Sample sample{
        {"spine", "nvlink", "rack"},
        {},
        {{"spine", {2.0, {}}}, {"rack", {1.0, {}}}, {"nvlink", {3.0, {}}}, {"host", {2.0, {}}}}};
    if (round % 2 == 0) std::swap(sample.levels[1], sample.levels[2]);
    for (unsigned i = 0; i < 2 + random() % 8; ++i) {
      for (int level = 0; level < 3; ++level) sample.nodes += "abc-"[random() % 4];
      sample.nodes += ' ';
    }
    const Network network = network_of(sample);
    const Indexes nodes = in_order(network.nodes());
    Loads counted(network), added(network);
    counted.add_all_pairs(nodes, 1e6);
    for (const std::size_t from : nodes) {
      for (const std::size_t to : nodes) {
        if (from != to) added.add(from, to, 1e6);
      }
    }
    ASSERT_EQ(counted.worst()->level, added.worst()->level) << sample.nodes;
    ASSERT_EQ(counted.worst()->node, added.worst()->node) << sample.nodes;
    ASSERT_EQ(counted.worst()->flows, added.worst()->flows) << sample.nodes;
    ASSERT_EQ(counted.worst()->bytes, added.worst()->bytes) << sample.nodes;
  }
}

Sample random_sample(std::mt19937& random) {
  Sample sample;
  sample.levels = {"spine", "leaf", "rack"};
  sample.levels.resize(1 + random() % 3);
  if (random() % 3 == 0) sample.levels[random() % sample.levels.size()] = "nvlink";
  for (const std::string& level : sample.levels) {
    if (random() % 4 == 0 || level == "nvlink") continue;
    sample.links[level] = {static_cast<double>(100 * (1 + random() % 8)), {}};
  }
  const std::size_t count = 1 + random() % 6 + (random() % 4 == 0 ? 1 : 0);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t level = 0; level < sample.levels.size(); ++level) {
      sample.nodes += "aabbc-"[random() % 6];
    }
    sample.nodes += ' ';
  }
  return sample;
}

Indexes by_topology(const Sample& sample) {
  const topology::Map map = map_of(sample);
  std::vector<Host> hosts;
  for (const auto& entry : map.hosts) hosts.push_back({entry.host, 1});
  Indexes order;
  const auto placement = place(hosts, map);
  for (const Node& node : placement->nodes) order.push_back(node.index);
  return order;
}

TEST(Cost, NoOrderIsBelowTheBoundAndOursReachesTheRings) {
  std::mt19937 random(20261122);
  constexpr double rounding = 1 - 1e-9;
  for (int round = 0; round < 300; ++round) {
    const Sample sample = random_sample(random);
    const Network network = network_of(sample);
    Indexes order = in_order(network.nodes());
    std::array<double, collectives.size()> least{}, best{};
    best.fill(std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < collectives.size(); ++i) {
      least[i] = least_seconds(collectives[i].collective, network, order, 1e9);
    }
    do {
      for (std::size_t i = 0; i < collectives.size(); ++i) {
        const Cost cost = cost_of(collectives[i].collective, network, order, 1e9);
        best[i] = std::min(best[i], cost.seconds);
      }
    } while (std::ranges::next_permutation(order).found);
    for (std::size_t i = 0; i < collectives.size(); ++i) {
      ASSERT_GE(best[i], least[i] * rounding) << collectives[i].text << ": " << sample.nodes;
    }
    const double ours = cost_of(Collective::ring, network, by_topology(sample), 1e9).seconds;
    ASSERT_LE(ours * rounding, least[0]) << sample.nodes;
    ASSERT_LE(best[2] * rounding, least[2]) << sample.nodes;
  }
}

TEST(Cost, TenThousandNodesTakeMilliseconds) {
  Sample sample{{"spine", "leaf"}, {}, {{"spine", {100.0, {}}}}};
  for (int i = 0; i < 10'000; ++i) {
    sample.nodes += {static_cast<char>('a' + i / 1000), static_cast<char>('0' + i / 20 % 50), ' '};
  }
  const Network network = network_of(sample);
  const Indexes order = in_order(network.nodes());
  for (const CollectiveName& collective : collectives) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_GT(cost_of(collective.collective, network, order, 1e9).seconds, 0);
    // By pairs an all-to-all takes seconds; generous, for a sanitizer on a busy machine.
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(500))
        << collective.text;
  }
}

}  // namespace
}  // namespace toprun::placement
