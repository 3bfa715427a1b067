#include <gtest/gtest.h>

#include <array>
#include <ranges>

#include "base/os/os_testing.h"
#include "bench/pairs/pair_verdict.h"
#include "bench/pairs/pairs_testing.h"
#include "bench/pairs/second_look.h"

namespace toprun::pairs {
namespace {

enum class Planted { nothing, host, sender, receiver, uplink, uplink_sending, link };

struct Plan {
  const char* about;
  std::size_t racks, hosts;
  double oversubscription;
  int runs;
};

constexpr Plan plans[] = {
    {"8 hosts in 4 racks", 4, 8, 1, 60},
    {"64 hosts in 8 racks", 8, 64, 1, 60},
    {"64 hosts in 8 racks, uplinks 4:1", 8, 64, 4, 60},
    {"1,000 hosts in 32 racks", 32, 1000, 2, 1},
};

// What the verdict should be, as "kind way names".
std::string plant(Simulation& simulation, Planted planted) {
  auto& faults = simulation.faults;
  const std::size_t hosts = simulation.cluster.names.size();
  const std::size_t host = simulation.below(hosts);
  const std::size_t rack = simulation.below(faults.uplink.size());
  const double bad = Simulation::bad_share;
  switch (planted) {
    case Planted::nothing:
      return "";
    case Planted::host:
      faults.sends[host] = faults.receives[host] = bad;
      return fmt::format("node both n{}", host);
    case Planted::sender:
      faults.sends[host] = bad;
      return fmt::format("node out n{}", host);
    case Planted::receiver:
      faults.receives[host] = bad;
      return fmt::format("node in n{}", host);
    case Planted::uplink:
      faults.uplink[rack] = faults.downlink[rack] = bad;
      return fmt::format("uplink both r{}", rack);
    case Planted::uplink_sending:
      faults.uplink[rack] = bad;
      return fmt::format("uplink out r{}", rack);
    case Planted::link:
      break;
  }
  const std::size_t other = (host + 1 + simulation.below(hosts - 1)) % hosts;
  faults.link = Pair{std::min(host, other), std::max(host, other)};
  faults.link_ab = faults.link_ba = bad;
  return fmt::format("pair both n{} n{}", faults.link->a, faults.link->b);
}

std::string short_words(const Cluster& cluster, std::span<const Finding> findings) {
  constexpr std::string_view kinds[] = {"node", "uplink", "between", "pair"};
  constexpr std::string_view ways[] = {"both", "out", "in"};
  std::string out;
  for (const Finding& finding : findings) {
    if (!out.empty()) out += "; ";
    out += fmt::format("{} {}", kinds[static_cast<std::size_t>(finding.kind)],
                       ways[static_cast<std::size_t>(finding.way)]);
    for (const std::size_t node : finding.nodes) out += " " + cluster.names[node];
    for (const DomainPath& domain : finding.domains) out += " " + domain.back();
  }
  return out;
}

// Noise of 5 to 10 %, another seed in each run.
Simulation simulation(const Plan& plan, int run) {
  const double noise = 0.05 + 0.05 * (run % 11) / 10;
  return {plan.racks, plan.hosts, plan.oversubscription, noise, static_cast<unsigned>(run)};
}

// `disturb`: changes what the rounds from `first` on gave; later passes' rounds follow.
using Disturb = std::function<void(std::size_t first, std::vector<Measured>& measured)>;

Confirmed look_again(
    Simulation& cluster, const Verdict& verdict,
    const Disturb& disturb = [](std::size_t, std::vector<Measured>&) {}) {
  SecondLook look(cluster.cluster, verdict);
  for (std::size_t first = 0; !look.next().empty();) {
    std::vector<Measured> measured = cluster.measure(look.next());
    disturb(first, measured);
    first += look.next().size();
    look.tell(measured, look.next().size());
  }
  return look.found();
}

void expect_confirmed(Simulation& cluster, const Verdict& verdict, const std::string& expected) {
  const Confirmed confirmed = look_again(cluster, verdict);
  EXPECT_EQ(short_words(cluster.cluster, confirmed.bad), expected);
  EXPECT_TRUE(confirmed.cleared.empty());
  EXPECT_TRUE(confirmed.open.empty());
}

void expect_found(const Plan& plan, Planted planted) {
  for (int run = 0; run < tried(plan.runs); ++run) {
    Simulation cluster = simulation(plan, run);
    const std::string expected = plant(cluster, planted);
    const auto verdict = judge(cluster.cluster, cluster.first_pass());
    ASSERT_TRUE(verdict) << verdict.error().line();
    EXPECT_EQ(short_words(cluster.cluster, verdict->findings), expected)
        << plan.about << ", run " << run << ", noise " << verdict->noise;
    expect_confirmed(cluster, *verdict, expected);
  }
}

class SimulatedFault : public testing::TestWithParam<Planted> {};

TEST_P(SimulatedFault, IsNamedExactly) {
  for (const Plan& plan : plans) {
    if (sanitized && plan.hosts >= 1000) continue;  // ten seconds each
    expect_found(plan, GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(All, SimulatedFault,
                         testing::Values(Planted::nothing, Planted::host, Planted::sender,
                                         Planted::receiver, Planted::uplink,
                                         Planted::uplink_sending, Planted::link));

// Shared uplinks nearly hide a slow host from other racks, and a rack of two does not tell which
// it is.
TEST(SecondLook, TellsApartWhatTheFirstCannot) {
  int ambiguous = 0;
  for (unsigned seed = 0; seed < static_cast<unsigned>(tried(200)); ++seed) {
    Simulation cluster(4, 8, 2, 0.05, seed);
    const std::string expected = plant(cluster, Planted::host);
    const auto verdict = judge(cluster.cluster, cluster.first_pass());
    ASSERT_TRUE(verdict) << verdict.error().line();
    ambiguous += short_words(cluster.cluster, verdict->findings) != expected ? 1 : 0;
    expect_confirmed(cluster, *verdict, expected);
  }
  EXPECT_GT(ambiguous, 0);
}

TEST(SecondLook, CallsNothingBadThatThereWasNoTimeFor) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Simulation cluster(4, 8, 1, 0.05, seed);
    plant(cluster, Planted::host);
    const auto verdict = judge(cluster.cluster, cluster.first_pass());
    ASSERT_TRUE(verdict) << verdict.error().line();
    const std::string suspected = short_words(cluster.cluster, verdict->findings);
    for (const std::size_t played : {0uz, 1uz}) {
      SecondLook look(cluster.cluster, *verdict);
      std::vector<Measured> measured = cluster.measure(look.next());
      std::erase_if(measured, [&](const Measured& pair) { return pair.round >= played; });
      look.tell(measured, played);
      const Confirmed confirmed = look.found();
      EXPECT_EQ(short_words(cluster.cluster, confirmed.left), suspected);
      EXPECT_EQ(confirmed.bad.size() + confirmed.cleared.size() + confirmed.open.size(), 0u);
    }
  }
}

// Two pairs share an uplink, so that a link of a third of its rate looks two thirds as fast.
TEST(SecondLook, FindsALinkThatSharedUplinksNearlyHide) {
  int doubted = 0;
  for (unsigned seed = 0; seed < static_cast<unsigned>(tried(500)); ++seed) {
    Simulation cluster(4, 8, 2, 0.08, seed);
    const std::string expected = plant(cluster, Planted::link);
    cluster.faults.link_ab = cluster.faults.link_ba = 1;
    cluster.faults.link_gbps = Simulation::host_gbps * Simulation::bad_share;
    const auto verdict = judge(cluster.cluster, cluster.first_pass());
    ASSERT_TRUE(verdict) << verdict.error().line();
    EXPECT_LE(verdict->doubted.size(), most_doubted_pairs);
    doubted += short_words(cluster.cluster, verdict->doubted).starts_with(expected) ? 1 : 0;
    const Confirmed confirmed = look_again(cluster, *verdict);
    EXPECT_EQ(short_words(cluster.cluster, confirmed.bad), expected) << seed;
  }
  EXPECT_GT(doubted, 0);
}

// A leaf's only pair was slow by chance, and the leaf's uplink is slow: the two hosts are not taken
// for slow because their uplink is.
TEST(SecondLook, AnUplinkIsNotItsHosts) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    Simulation cluster(4, 8, 1, 0.05, seed);
    cluster.faults.uplink[3] = cluster.faults.downlink[3] = Simulation::bad_share;
    const auto inside = [&](std::size_t node) {
      return cluster.cluster.places[node].back() == "r3";
    };
    Finding pair{Kind::pair, Way::both, {}, {}, 1};
    for (std::size_t node = 0; node < 8; ++node) {
      if (inside(node)) pair.nodes.push_back(node);
    }
    ASSERT_EQ(pair.nodes.size(), 2u);
    Verdict verdict;
    verdict.findings = {{Kind::uplink, Way::both, {}, {cluster.cluster.places[pair.nodes[0]]}, 0},
                        pair};
    const Confirmed confirmed = look_again(cluster, verdict);
    EXPECT_EQ(short_words(cluster.cluster, confirmed.bad), "uplink both r3") << seed;
    EXPECT_EQ(confirmed.cleared.size(), 1u) << seed;
  }
}

// What is suspected between some domains does not make all their nodes useless for comparing.
TEST(SecondLook, SuspectsBetweenAllDomainsLeavePairsToCompareWith) {
  Simulation cluster(4, 8, 1, 0.05, 1);
  cluster.faults.sends[5] = cluster.faults.receives[5] = Simulation::bad_share;
  Verdict verdict;
  verdict.findings = {{Kind::node, Way::both, {5}, {}, 0},
                      {Kind::between, Way::out, {}, {{"r0"}, {"r2"}}, 0},
                      {Kind::between, Way::out, {}, {{"r1"}, {"r3"}}, 0}};
  const Confirmed confirmed = look_again(cluster, verdict);
  EXPECT_EQ(short_words(cluster.cluster, confirmed.bad), "node both n5");
}

// So many suspects that no good pair is left: what was usual in the first pass tells them apart.
TEST(SecondLook, NeedsNoGoodPairs) {
  Simulation cluster(4, 8, 1, 0.05, 1);
  cluster.faults.link = Pair{0, 7};
  cluster.faults.link_ab = cluster.faults.link_ba = Simulation::bad_share;
  Verdict verdict;
  for (const auto& [a, b] : {Pair{0, 7}, Pair{1, 6}, Pair{2, 5}, Pair{3, 4}}) {
    Finding& pair = verdict.findings.emplace_back(Finding{Kind::pair, Way::both, {a, b}, {}, 0});
    pair.usual = Simulation::host_gbps;
  }
  const Confirmed confirmed = look_again(cluster, verdict);
  EXPECT_EQ(short_words(cluster.cluster, confirmed.bad), "pair both n0 n7");
  EXPECT_EQ(confirmed.cleared.size(), 3u);
}

// On busy hosts the pairs within all racks were slow by chance, beside a host that is slow.
TEST(SecondLook, ASlowNodeIsComparedWithNodesOfSlowPairsWhereNoOthersAre) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    Simulation cluster(4, 8, 1, 0.05, seed);
    cluster.faults.sends[1] = cluster.faults.receives[1] = Simulation::bad_share;
    Verdict verdict;
    verdict.findings = {{Kind::node, Way::in, {1}, {}, 0}};
    for (const auto& [a, b] : {Pair{0, 1}, Pair{2, 3}, Pair{4, 5}, Pair{6, 7}}) {
      Finding& pair = verdict.findings.emplace_back(Finding{Kind::pair, Way::out, {a, b}, {}, 1});
      pair.usual = Simulation::host_gbps;
    }
    const Confirmed confirmed = look_again(cluster, verdict);
    EXPECT_EQ(short_words(cluster.cluster, confirmed.bad), "node both n1") << seed;
    EXPECT_TRUE(confirmed.open.empty()) << seed;
  }
}

// Three of four pairs inside racks are slower than the fourth: that one may be fast, as two virtual
// hosts on one processor are.
TEST(SecondLook, MostPairsAtADistanceAreNotSlow) {
  for (const std::size_t suspects : {2uz, 3uz}) {
    Simulation cluster(4, 8, 1, 0.05, 1);
    cluster.faults.link = Pair{0, 1};
    cluster.faults.link_ab = cluster.faults.link_ba = 5;
    Verdict verdict;
    for (const auto& [a, b] :
         std::array{Pair{2, 3}, Pair{4, 5}, Pair{6, 7}} | std::views::take(suspects)) {
      verdict.findings.push_back(Finding{Kind::pair, Way::both, {a, b}, {}, 1});
      verdict.findings.back().reached = Simulation::host_gbps;
    }
    const Confirmed confirmed = look_again(cluster, verdict);
    EXPECT_EQ(confirmed.bad.size(), 0u);
    EXPECT_EQ(confirmed.most.size(), suspects == 3 ? 3u : 0u);
  }
}

// Both the suspects and their controls vary by half: a suspect is slower only if even the slower
// controls are faster.
TEST(SecondLook, AsSlowAsAControlIsNotSlow) {
  Simulation cluster(4, 8, 1, 0.01, 1);
  Verdict verdict;
  verdict.findings = {{Kind::between, Way::in, {}, {{"r2"}, {"r3"}}, 0}};
  const auto of_suspects = [](const Measured& pair) { return pair.a >= 4; };
  for (const std::size_t slow_controls : {1uz, 2uz}) {
    std::size_t slowed = 0;
    const Confirmed confirmed =
        look_again(cluster, verdict, [&](std::size_t, std::vector<Measured>& measured) {
          for (Measured& pair : measured) {
            const bool is_slow = of_suspects(pair) || slowed < 2 * slow_controls;
            if (!of_suspects(pair) && is_slow) ++slowed;
            if (is_slow) pair.gbps_ab = pair.gbps_ba = of_suspects(pair) ? 50 : 40;
          }
        });
    EXPECT_EQ(confirmed.bad.size(), slow_controls == 1 ? 1u : 0u);
  }
}

// The machine stands still in `length` rounds from `from` on.
Disturb standstill(std::size_t from, std::size_t length) {
  return [=](std::size_t first, std::vector<Measured>& measured) {
    for (Measured& pair : measured) {
      const std::size_t round = first + pair.round;
      if (round < from || round >= from + length) continue;
      pair.gbps_ab /= 2;
      pair.gbps_ba /= 2;
    }
  };
}

void expect_one_moment_names_nobody(Simulation& cluster, const Verdict& verdict) {
  constexpr std::size_t more_than_all_rounds = 200;
  for (const std::size_t length : {1u, 2u}) {
    for (std::size_t from = 0; from < more_than_all_rounds; ++from) {
      const Confirmed confirmed = look_again(cluster, verdict, standstill(from, length));
      EXPECT_EQ(short_words(cluster.cluster, confirmed.bad), "") << "rounds from " << from;
    }
  }
}

// Within a rack no pair uses its uplink, whatever is suspected of that.
TEST(SecondLook, SuspectedUplinksDoNotMatterWithinRacks) {
  for (const bool is_slow : {false, true}) {
    Simulation cluster(4, 8, 1, 0.05, 1);
    if (is_slow) cluster.faults.sends[1] = Simulation::bad_share;
    Verdict verdict;
    verdict.findings = {{Kind::node, Way::out, {1}, {}, 1},
                        {Kind::uplink, Way::both, {}, {{"r1"}}, 0},
                        {Kind::uplink, Way::both, {}, {{"r2"}}, 0},
                        {Kind::uplink, Way::both, {}, {{"r3"}}, 0}};
    SecondLook look(cluster.cluster, verdict);
    look.tell(cluster.measure(look.next()), look.next().size());
    const Confirmed confirmed = look.found();
    EXPECT_EQ(short_words(cluster.cluster, confirmed.bad), is_slow ? "node out n1" : "");
    EXPECT_EQ(confirmed.cleared.empty(), is_slow);
  }
}

// Two uplinks were slow by chance, so that no good pair was left for the hosts of a third rack.
TEST(SecondLook, WhatIsClearedServesToCompareWith) {
  for (const bool is_slow : {false, true}) {
    Simulation cluster(4, 8, 1, 0.05, 1);
    if (is_slow) cluster.faults.sends[1] = Simulation::bad_share;
    Verdict verdict;
    verdict.findings = {{Kind::node, Way::out, {0}, {}, 1},
                        {Kind::node, Way::out, {1}, {}, 1},
                        {Kind::uplink, Way::both, {}, {{"r1"}}, 0},
                        {Kind::uplink, Way::both, {}, {{"r2"}}, 0}};
    for (Finding& finding : verdict.findings) finding.usual = Simulation::host_gbps;
    const Confirmed confirmed = look_again(cluster, verdict);
    EXPECT_EQ(short_words(cluster.cluster, confirmed.bad), is_slow ? "node out n1" : "");
    EXPECT_EQ(short_words(cluster.cluster, confirmed.open), "");
  }
}

// The machine stands still while one round is measured, or while two that follow each other are.
TEST(SecondLook, OneMomentMakesNobodySlow) {
  Simulation cluster(4, 8, 1, 0.05, 1);
  const auto pair = [](std::size_t a, std::size_t b) {
    return Finding{Kind::pair, Way::both, {a, b}, {}, 0};
  };
  Verdict one_partner_in_a_leaf_of_two;
  one_partner_in_a_leaf_of_two.findings = {{Kind::node, Way::both, {3}, {}, 1}, pair(0, 5)};
  one_partner_in_a_leaf_of_two.doubted = {pair(4, 6)};
  expect_one_moment_names_nobody(cluster, one_partner_in_a_leaf_of_two);

  Verdict one_good_partner_is_left;
  one_good_partner_is_left.findings = {pair(0, 3), pair(1, 6), pair(2, 7)};
  one_good_partner_is_left.doubted = {pair(2, 4)};
  expect_one_moment_names_nobody(cluster, one_good_partner_is_left);

  Verdict domains;
  domains.findings = {{Kind::uplink, Way::both, {}, {{"r2"}}, 0},
                      {Kind::between, Way::in, {}, {{"r0"}, {"r3"}}, 0}};
  expect_one_moment_names_nobody(cluster, domains);
}

// On busy hosts the paces of healthy pairs differ by a third, and one direction of a pair is often
// slower than the other: domains that were suspected by chance are compared with their like.
TEST(SecondLook, BusyHostsMakeNoDomainSlow) {
  constexpr double busy = 0.3;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    Simulation cluster(4, 8, 1, busy, seed);
    Verdict verdict;
    verdict.findings = {{Kind::between, Way::in, {}, {{"r2"}, {"r3"}}, 0}};
    EXPECT_EQ(short_words(cluster.cluster, look_again(cluster, verdict).bad), "") << seed;
  }
}

// Where there is nothing to compare with, that a pair hangs again is enough to name the pair.
TEST(SecondLook, WhatHangsNeedsNothingToCompareWith) {
  using Hangs = std::function<bool(const Measured& pair, bool again)>;
  const auto of = [](std::size_t node) {
    return [node](const Measured& pair, bool) { return pair.a == node || pair.b == node; };
  };
  const struct {
    const char* about;
    std::size_t racks, hosts;
    Hangs hangs;
    std::string_view found;
  } rows[] = {
      {"two nodes", 1, 2, of(0), "pair both n0 n1"},
      {"two nodes, once", 1, 2, [](const Measured&, bool again) { return !again; }, ""},
      {"one of three in two racks", 2, 3, of(2), "pair both n0 n2; pair both n1 n2"},
      {"one of three in two racks, first", 2, 3, of(0), "pair both n0 n1; pair both n0 n2"},
      {"all of three in two racks", 2, 3, [](const Measured&, bool) { return true; },
       "pair both n0 n1; pair both n0 n2; pair both n1 n2"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.about);
    Simulation cluster(row.racks, row.hosts, 1, 0.05, 1);
    const auto hang = [&](std::vector<Measured>& measured, bool again) {
      for (Measured& pair : measured) {
        if (!row.hangs(pair, again)) continue;
        pair.gbps_ab = pair.gbps_ba = pair.latency_us = 0;
        pair.state = State::hung;
      }
    };
    std::vector<Measured> first = cluster.first_pass();
    hang(first, false);
    const auto verdict = judge(cluster.cluster, first);
    ASSERT_TRUE(verdict);
    const Confirmed confirmed =
        look_again(cluster, *verdict, [&](std::size_t, auto& measured) { hang(measured, true); });
    EXPECT_EQ(short_words(cluster.cluster, confirmed.bad), row.found);
    EXPECT_TRUE(confirmed.open.empty());
  }
}

// A node whose sending is slow receives slowly too while it sends.
TEST(SecondLook, NamesTheDirectionThatIsSlowByItself) {
  for (const bool sends : {true, false}) {
    Simulation cluster(2, 4, 1, 0.05, 1);
    const std::size_t slow = 2;
    const auto slow_down = [&](std::vector<Measured>& measured) {
      for (Measured& pair : measured) {
        pair.alone_ab = pair.alone_ba = Simulation::host_gbps;
        if (pair.a != slow && pair.b != slow) continue;
        const bool is_ab = (pair.a == slow) == sends;
        const double other = std::sqrt(Simulation::bad_share);
        pair.gbps_ab *= is_ab ? Simulation::bad_share : other;
        pair.gbps_ba *= is_ab ? other : Simulation::bad_share;
        (is_ab ? pair.alone_ab : pair.alone_ba) *= Simulation::bad_share;
      }
    };
    std::vector<Measured> first = cluster.first_pass();
    slow_down(first);
    const auto verdict = judge(cluster.cluster, first);
    ASSERT_TRUE(verdict);
    EXPECT_EQ(short_words(cluster.cluster, verdict->findings), "node both n2");
    const Confirmed confirmed =
        look_again(cluster, *verdict, [&](std::size_t, auto& measured) { slow_down(measured); });
    ASSERT_EQ(short_words(cluster.cluster, confirmed.bad), sends ? "node out n2" : "node in n2");
    // What returns waits in the queue of what is slow, but is faster than it.
    const double slow_gbps = Simulation::host_gbps * Simulation::bad_share;
    EXPECT_NEAR(confirmed.bad[0].reached, slow_gbps, slow_gbps / 4);
  }
}

TEST(SecondLook, ClearsWhatIsHealthy) {
  Simulation cluster(4, 8, 1, 0.05, 1);
  Verdict verdict;
  verdict.findings = {{Kind::node, Way::both, {3}, {}, 1},
                      {Kind::uplink, Way::both, {}, {{"r2"}}, 0},
                      {Kind::between, Way::out, {}, {{"r0"}, {"r3"}}, 0},
                      {Kind::pair, Way::in, {0, 1}, {}, 1}};
  const Confirmed confirmed = look_again(cluster, verdict);
  EXPECT_EQ(short_words(cluster.cluster, confirmed.bad), "");
  EXPECT_EQ(confirmed.cleared.size() + confirmed.open.size(), 4u);
  SecondLook unmeasured(cluster.cluster, verdict);
  for (std::size_t pass = 0; pass < SecondLook::most_passes; ++pass) {
    unmeasured.tell({}, unmeasured.next().size());
  }
  EXPECT_TRUE(unmeasured.next().empty());
  EXPECT_EQ(unmeasured.found().open.size(), 4u);
}

}  // namespace
}  // namespace toprun::pairs
