#include "decide/cost/cost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <random>

#include "decide/cost/cost_testing.h"

namespace toprun::cost {
namespace {

// "1.2345 s, rack of n0: 2 flows, 28000000 bytes".
std::string text_of(const Network& network, const Cost& cost) {
  if (!cost.worst) return fmt::format("{:.6g} s", cost.seconds);
  return fmt::format("{:.6g} s, {} of n{}: {} flows, {:.0f} bytes", cost.seconds,
                     network.link(cost.worst->level).name, cost.worst->node, cost.worst->flows,
                     cost.worst->bytes);
}

// 8 MB over 8 nodes: an edge of the ring carries 14 · 1 MB in all. Uplinks of 100 Mbit/s; 6 µs for
// each of 14 steps, as host and rack assume. Worked out by hand.
// A level that the hosts do not have has no uplink.
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

// Hosts without NVLink do not share an NVLink domain.
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
           // Two racks: all eight edges cross, four from each rack; sorted, one from each.
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
           // One rack: no edge leaves it; 400 Gbit/s adapters, 5 µs.
           {ring,
            {rack, "a a a a a a a a", slow_racks},
            "0.00035 s, host of n0: 1 flows, 14000000 bytes",
            "0.00035 s"},
           // A rack with an unknown rate is not a bottleneck.
           {ring,
            {rack, "a b a b a b a b", {}},
            "0.000364 s, host of n0: 1 flows, 14000000 bytes",
            "0.000364 s"},
           // Both levels count; the spine has the lower rate relative to its bytes.
           {ring,
            {{"spine", "rack"},
             "ap bq ap bq ar bs ar bs",
             {{"spine", {0.1, 10.0}}, {"rack", {0.1, 20.0}}}},
            "4.48049 s, spine of n0: 4 flows, 56000000 bytes",
            "1.12049 s"},
           // The racks of two nodes are unknown: each node is alone in its own.
           {ring,
            {rack, "a - a - b b b b", slow_racks},
            "2.24008 s, rack of n0: 2 flows, 28000000 bytes",
            "1.12008 s"},
           // The same rack below an unknown spine: the nodes share that spine too.
           {ring,
            {{"spine", "rack"}, "-p -p", {{"spine", {0.1, {}}}}},
            "0.00017 s, host of n0: 1 flows, 8000000 bytes",
            "0.00017 s"},
           // NVLink pairs: half of the edges need no adapter. A used adapter carries the same bytes
           // as NVLink, and the rack's uplink 1 flow, not 2.
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

           // Edges 2-4, 4-0 of one tree and 5-3, 3-7 of the other; 4 MB in each direction over
           // each. No single edge cuts off four of eight. Six steps of 6 µs.
           {tree,
            {rack, "a a a a b b b b", slow_racks},
            "1.28004 s, rack of n0: 4 flows, 16000000 bytes",
            "1.28004 s"},
           // Odd positions are leaves of the first tree and all have even parents: 4 edges; 2-4,
           // 6-4 and 4-0 do not cross. The other tree has the same number.
           {tree,
            {rack, "a b a b a b a b", slow_racks},
            "2.56004 s, rack of n0: 8 flows, 32000000 bytes",
            "1.28004 s"},
           // One rack: at most four neighbours in both trees together.
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
           // A rack of two inside an NVLink domain of four: the two send 1 MB to each of four
           // others.
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

// Racks of 400, 100 and an unknown number of Mbit/s.
TEST(Cost, EachDomainHasItsOwnRate) {
  const std::map<std::string, double> rates = {{"a", 0.4}, {"b", 0.1}, {"c", 0}};
  Sample sample{{"rack"}, "a a b b c c", {}, 1, {{"rack", rates}}};
  const Network network = network_of(sample);
  EXPECT_EQ(text_of(network, cost_of(Collective::ring, network, in_order(6), 6e6)),
            "0.80006 s, rack of n2: 1 flows, 10000000 bytes");
  EXPECT_EQ(text_of(network, cost_of(Collective::ring, network, Indexes{0, 4, 1, 5}, 6e6)),
            "0.360036 s, rack of n0: 2 flows, 18000000 bytes");
  // What is unknown is no bottleneck, nor is the rate of a domain without hosts of the job.
  EXPECT_EQ(text_of(network, cost_of(Collective::tree, network, Indexes{4, 0}, 6e6)),
            "0.120012 s, rack of n0: 2 flows, 6000000 bytes");
  EXPECT_EQ(fmt::format("{:.6g}", least_seconds(Collective::ring, network, in_order(6), 6e6)),
            "0.80006");
  EXPECT_EQ(fmt::format("{:.6g}", least_seconds(Collective::ring, network, Indexes{0, 4}, 6e6)),
            "0.120012");
  sample.links = {{"rack", {1.0, {}}}};  // of the user
  const Network same = network_of(sample);
  EXPECT_EQ(text_of(same, cost_of(Collective::ring, same, in_order(6), 6e6)),
            "0.08006 s, rack of n0: 1 flows, 10000000 bytes");
}

TEST(Cost, NoOrderIsBelowTheBoundInsideNvlinkDomains) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    Sample sample{{"spine", "nvlink", "rack"}, {}, {}, 1, {}};
    for (const char* level : {"spine", "rack"}) {
      for (const char* domain : {"a", "b", "c"}) {
        sample.domain_gbps[level][domain] = static_cast<double>(random() % 8);
      }
    }
    const std::size_t count = 2 + random() % 4;
    for (std::size_t i = 0; i < count; ++i) {
      for (int level = 0; level < 3; ++level) sample.nodes += "abbc-."[random() % 6];
      sample.nodes += ' ';
    }
    const Network network = network_of(sample);
    Indexes order = in_order(network.nodes());
    do {
      for (const CollectiveName& name : collectives) {
        ASSERT_GE(cost_of(name.collective, network, order, 1e9).seconds,
                  least_seconds(name.collective, network, order, 1e9) * (1 - 1e-9))
            << name.text << ": " << sample.nodes;
      }
    } while (std::ranges::next_permutation(order).found);
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

TEST(Cost, TenThousandNodesTakeMilliseconds) {
  Sample sample{{"spine", "leaf"}, {}, {{"spine", {100.0, {}}}}};
  for (int i = 0; i < 10'000; ++i) {
    sample.nodes += {static_cast<char>('a' + i / 1000), static_cast<char>('0' + i / 20 % 50), ' '};
  }
  const Network network = network_of(sample);
  const Indexes order = in_order(network.nodes());
  for (const CollectiveName& collective : collectives) {
    const std::clock_t start = std::clock();  // of this process alone: others may be busy
    EXPECT_GT(cost_of(collective.collective, network, order, 1e9).seconds, 0);
    // Counting by pairs would take seconds; the limit allows for a sanitizer.
    EXPECT_LT(std::clock() - start, CLOCKS_PER_SEC / 2) << collective.text;
  }
}

}  // namespace
}  // namespace toprun::cost
