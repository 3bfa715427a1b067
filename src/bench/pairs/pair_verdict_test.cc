#include "bench/pairs/pair_verdict.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace toprun::pairs {
namespace {

// Racks r0, r1 … of so many nodes n0, n1 …; 0: the places are unknown.
Cluster cluster_of(std::size_t nodes, std::size_t per_rack) {
  Cluster cluster;
  cluster.levels = {"rack"};
  for (std::size_t i = 0; i < nodes; ++i) {
    cluster.names.push_back(fmt::format("n{}", i));
    if (per_rack > 0) cluster.places.push_back({fmt::format("r{}", i / per_rack)});
  }
  return cluster;
}

using Change = std::function<void(Measured&)>;

// Every pair once, 98 Gbit/s within a rack and 50 across; `change` may spoil some.
std::vector<Measured> measure(const Cluster& cluster, const Change& change) {
  std::vector<Measured> out;
  std::size_t number = 0;
  const std::vector<DomainPath> nowhere(cluster.names.size());
  for (const Batch& batch : batches(cluster.places.empty() ? nowhere : cluster.places)) {
    const double gbps = batch.shared == 0 && !cluster.places.empty() ? 50 : 98;
    for (const Round& round : batch.rounds) {
      for (const auto& [a, b] : round) {
        out.push_back({a, b, number, gbps, gbps, 5, State::measured});
        change(out.back());
      }
      ++number;
    }
  }
  return out;
}

void slow_down(Measured& pair, double gbps) {
  pair.gbps_ab = pair.gbps_ba = gbps;
}

bool has(const Measured& pair, std::size_t node) {
  return pair.a == node || pair.b == node;
}

std::string lines(const Cluster& cluster, const Verdict& verdict) {
  std::string out;
  for (const Finding& finding : verdict.findings) {
    out += finding_line(cluster, verdict.figure, finding) + "\n";
  }
  return out;
}

TEST(Verdict, NamesWhatIsSlow) {
  const struct {
    const char* about;
    std::size_t nodes, per_rack;
    Change change;
    std::string_view lines;
  } rows[] = {
      {"healthy", 8, 0, [](Measured&) {}, ""},
      {"two nodes: nothing to compare with", 2, 0, [](Measured& m) { slow_down(m, 1); }, ""},
      {"a node", 32, 0,
       [](Measured& m) {
         if (has(m, 17) && !has(m, 3)) slow_down(m, 31);
       },
       "n17: 31 Gbps, others 98, in 30 of 31 pairs, both directions\n"},
      {"one that sends slowly", 8, 0,
       [](Measured& m) {
         if (m.a == 2) m.gbps_ab = 9.04;
         if (m.b == 2) m.gbps_ba = 9.04;
       },
       "n2: 9.0 Gbps, others 98, in 7 of 7 pairs, sending\n"},
      {"two of four in a rack", 16, 4,
       [](Measured& m) {
         if (has(m, 0) || has(m, 1)) slow_down(m, 20);
       },
       "n0: 20 Gbps, others 98, in 3 of 3 compared pairs, both directions\n"
       "n1: 20 Gbps, others 98, in 2 of 2 compared pairs, both directions\n"},
      {"a pair, one way", 8, 0,
       [](Measured& m) {
         if (m.a == 2 && m.b == 5) m.gbps_ba = 30;
       },
       "n2 – n5: 30 Gbps, others 98, from n5 to n2\n"},
      {"an uplink, receiving", 16, 4,
       [](Measured& m) {
         if (m.a / 4 == m.b / 4) return;
         if (m.b / 4 == 2) m.gbps_ab = 17;
         if (m.a / 4 == 2) m.gbps_ba = 17;
       },
       "uplink of rack r2: 17 Gbps, others 50, in 48 of 48 pairs, receiving\n"},
      {"an uplink of two nodes that are slow with each other", 8, 2,
       [](Measured& m) {
         const bool across = m.a / 2 != m.b / 2;
         if (across && (m.a / 2 == 1 || m.b / 2 == 1)) slow_down(m, 17);
         if (m.a == 2 && m.b == 3) slow_down(m, 40);
       },
       "uplink of rack r1: 17 Gbps, others 50, in 12 of 12 pairs, both directions\n"
       "n2 – n3: 40 Gbps, others 98, both directions\n"},
      {"an uplink that sends slowly, and what one of its nodes receives waits for that", 6, 2,
       [](Measured& m) {
         if (m.a / 2 == m.b / 2) return;
         if (m.a / 2 == 1) m.gbps_ab = 5;
         if (m.b / 2 == 1) m.gbps_ba = 5;
         if (m.a == 2) m.gbps_ba = 17;
         if (m.b == 2) m.gbps_ab = 17;
       },
       "uplink of rack r1: 5.0 Gbps, others 50, in 8 of 8 pairs, sending\n"},
      {"between two racks", 16, 4,
       [](Measured& m) {
         if (m.a / 4 == 1 && m.b / 4 == 3) slow_down(m, 10);
       },
       "between rack r1 and rack r3: 10 Gbps, others 50, in 16 of 16 pairs, both directions\n"},
      {"a node that hangs", 8, 0,
       [](Measured& m) {
         if (has(m, 4)) m.state = m.b == 7 ? State::failed : State::hung;
       },
       "n4: no result in 7 of 7 pairs; 6 hung, 1 failed\n"},
      {"a node that hangs at times", 8, 0,
       [](Measured& m) {
         if (!has(m, 4)) return;
         if (has(m, 5)) m.state = State::hung;
         slow_down(m, 20);
       },
       "n4: 20 Gbps, others 98, in 7 of 7 pairs, both directions; 1 hung\n"},
      {"a pair that hangs", 8, 0,
       [](Measured& m) {
         if (has(m, 4) && has(m, 6)) m.state = State::hung;
       },
       "n4 – n6: hung\n"},
      {"a pair that hangs, after which its nodes were busy", 6, 2,
       [](Measured& m) {
         if (has(m, 2) && has(m, 4))
           m.state = State::hung;
         else if (has(m, 2) || has(m, 4))
           m.state = State::not_measured;
       },
       "n2 – n4: hung\n"},
      {"two nodes that hang", 2, 0, [](Measured& m) { m.state = State::hung; }, "n0 – n1: hung\n"},
      {"a pair that fails with too few to compare with", 3, 2,
       [](Measured& m) {
         if (has(m, 0) && has(m, 1)) m.state = State::failed;
       },
       "n0 – n1: failed\n"},
      {"a node that hangs, of three", 3, 0,
       [](Measured& m) {
         if (has(m, 2)) m.state = State::hung;
       },
       "n2: no result in 2 of 2 pairs; 2 hung\n"},
      {"all hang", 3, 0, [](Measured& m) { m.state = State::hung; },
       "n1 – n2: hung\nn0 – n2: hung\nn0 – n1: hung\n"},
      {"a round that is slow as a whole", 32, 0,
       [](Measured& m) {
         if (m.round == 3) slow_down(m, 45);
       },
       ""},
      {"all at once", 32, 8,
       [](Measured& m) {
         const bool across = m.a / 8 != m.b / 8;
         if (across && (m.a / 8 == 1 || m.b / 8 == 1)) slow_down(m, 15);
         if (has(m, 20)) slow_down(m, 10);
         if (m.a == 0 && m.b == 5) slow_down(m, 12);
       },
       "n20: 10 Gbps, others 98, in 7 of 7 compared pairs, both directions\n"
       "uplink of rack r1: 15 Gbps, others 50, in 184 of 184 pairs, both directions\n"
       "n0 – n5: 12 Gbps, others 98, both directions\n"},
  };
  for (const auto& [about, nodes, per_rack, change, expected] : rows) {
    const Cluster cluster = cluster_of(nodes, per_rack);
    const auto verdict = judge(cluster, measure(cluster, change));
    ASSERT_TRUE(verdict) << verdict.error().line();
    EXPECT_EQ(lines(cluster, *verdict), expected) << about;
  }
}

TEST(Verdict, JudgesLatencies) {
  const Cluster cluster = cluster_of(8, 0);
  const auto verdict = judge(cluster,
                             measure(cluster,
                                     [](Measured& m) {
                                       if (has(m, 6)) m.latency_us = 40;
                                     }),
                             Figure::latency);
  ASSERT_TRUE(verdict) << verdict.error().line();
  EXPECT_EQ(lines(cluster, *verdict), "n6: 40 µs, others 5.0, in 7 of 7 pairs, both directions\n");
}

TEST(Verdict, ThresholdsAreSettable) {
  const Cluster cluster = cluster_of(8, 0);
  const auto measured = measure(cluster, [](Measured& m) {
    if (has(m, 6)) slow_down(m, 85);
  });
  EXPECT_TRUE(judge(cluster, measured)->findings.empty());
  EXPECT_EQ(judge(cluster, measured, Figure::rate, {.least_shortfall = 0.1})->findings.size(), 1u);
}

TEST(Verdict, SaysWhatWasNotCompared) {
  const Cluster cluster = cluster_of(6, 0);
  auto measured = measure(cluster, [](Measured&) {});
  std::erase_if(measured, [](const Measured& m) { return has(m, 1); });
  EXPECT_EQ(judge(cluster, measured)->not_compared, (std::vector<std::size_t>{1}));
  EXPECT_EQ(judge(cluster, {})->not_compared.size(), 6u);
}

TEST(Verdict, ExcludesNodesAlone) {
  const Cluster cluster = cluster_of(8, 4);
  const std::vector<Finding> findings = {{Kind::node, Way::in, {5}, {}},
                                         {Kind::node, Way::both, {2}, {}},
                                         {Kind::pair, Way::both, {0, 7}, {}},
                                         {Kind::uplink, Way::both, {}, {{"r1"}}}};
  EXPECT_EQ(excluded(cluster, findings), (std::vector<std::string>{"n2", "n5"}));
}

TEST(Verdict, NamesAreHarmless) {
  Cluster cluster = cluster_of(2, 1);
  cluster.names[0] = "a\nb";
  EXPECT_EQ(finding_line(cluster, Figure::rate, {Kind::pair, Way::both, {0, 1}, {}}),
            "a\\nb – n1: failed");
}

TEST(Verdict, Refuses) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Cluster cluster = cluster_of(3, 0);
  Cluster half = cluster;
  half.places = {{"r0"}};
  const struct {
    Cluster cluster;
    Measured measured;
    Figure figure;
    std::string_view line;
  } rows[] = {
      {half, {0, 1, 0, 1, 1}, Figure::rate, "only 1 of 3 nodes have places"},
      {cluster, {0, 3, 0, 1, 1}, Figure::rate, "nodes 0 and 3 of 3 are not a pair"},
      {cluster, {2, 2, 0, 1, 1}, Figure::rate, "nodes 2 and 2 of 3 are not a pair"},
      {cluster,
       {0, 1, 0, 1, 0},
       Figure::rate,
       "the pair n0 – n1 has no rates: the value must be a positive number"},
      {cluster,
       {0, 1, 0, nan, 1},
       Figure::rate,
       "the pair n0 – n1 has no rates: the value must be a positive number"},
      {cluster,
       {0, 1, 0, 1, 1},
       Figure::latency,
       "the pair n0 – n1 has no latency: the value must be a positive number"},
  };
  for (const auto& [which, measured, figure, line] : rows) {
    const auto verdict = judge(which, std::vector{measured}, figure);
    ASSERT_FALSE(verdict) << line;
    EXPECT_EQ(verdict.error().line(), line);
  }
}

TEST(PairVerdict, SeveralHostsWithoutPlacesAreNotCertain) {
  const std::vector<std::string> one{"n3"};
  const std::vector<std::string> two{"n1", "n3"};
  const Cluster flat{{"n0", "n1", "n2", "n3"}, {{}, {}, {}, {}}, {}};
  const Cluster racks{{"n0", "n1", "n2", "n3"}, {{"r0"}, {"r1"}, {"r0"}, {"r1"}}, {}};
  EXPECT_TRUE(is_certain(flat, one));
  EXPECT_FALSE(is_certain(flat, two));
  EXPECT_TRUE(is_certain(racks, two));
}

}  // namespace
}  // namespace toprun::pairs
