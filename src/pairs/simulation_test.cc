#include <gtest/gtest.h>

#include <chrono>

#include "pairs/testing.h"
#include "pairs/verdict.h"

namespace toprun::pairs {
namespace {

enum class Planted { nothing, host, sender, receiver, uplink, uplink_sending, link };

struct Plan {
  const char* about;
  std::size_t racks, hosts;  // per rack
  double oversubscription;
  int runs;
};

constexpr Plan plans[] = {
    {"8 hosts in 4 racks", 4, 2, 1, 200},
    {"64 hosts in 8 racks", 8, 8, 1, 200},
    {"64 hosts in 8 racks, uplinks 4:1", 8, 8, 4, 200},
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

std::string short_words(const Cluster& cluster, const Verdict& verdict) {
  constexpr std::string_view kinds[] = {"node", "uplink", "between", "pair"};
  constexpr std::string_view ways[] = {"both", "out", "in"};
  std::string out;
  for (const Finding& finding : verdict.findings) {
    if (!out.empty()) out += "; ";
    out += fmt::format("{} {}", kinds[static_cast<std::size_t>(finding.kind)],
                       ways[static_cast<std::size_t>(finding.way)]);
    for (const std::size_t node : finding.nodes) out += " " + cluster.names[node];
    for (const Place& domain : finding.domains) out += " " + domain.back();
  }
  return out;
}

// Noise of 5 to 10 %, another seed in each run.
Simulation simulation(const Plan& plan, int run) {
  const double noise = 0.05 + 0.05 * (run % 11) / 10;
  return {plan.racks, plan.hosts, plan.oversubscription, noise, static_cast<unsigned>(run)};
}

void expect_found(const Plan& plan, Planted planted) {
  for (int run = 0; run < plan.runs; ++run) {
    Simulation cluster = simulation(plan, run);
    const std::string expected = plant(cluster, planted);
    const auto verdict = judge(cluster.cluster, cluster.first_pass());
    ASSERT_TRUE(verdict) << verdict.error().line();
    EXPECT_EQ(short_words(cluster.cluster, *verdict), expected)
        << plan.about << ", run " << run << ", noise " << verdict->noise;
  }
}

class SimulatedFault : public testing::TestWithParam<Planted> {};

TEST_P(SimulatedFault, IsNamedExactly) {
  for (const Plan& plan : plans) expect_found(plan, GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, SimulatedFault,
                         testing::Values(Planted::nothing, Planted::host, Planted::sender,
                                         Planted::receiver, Planted::uplink,
                                         Planted::uplink_sending, Planted::link));

}  // namespace
}  // namespace toprun::pairs
