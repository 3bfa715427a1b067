#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "base/os/os_testing.h"
#include "decide/cost/cost_testing.h"
#include "decide/placement/order.h"

namespace toprun::placement {
namespace {

using cost::Indexes;
using cost::Sample;

Indexes by_topology(const Sample& sample) {
  const topology::Map map = cost::map_of(sample);
  std::vector<Host> hosts;
  for (const auto& entry : map.hosts) hosts.push_back({entry.host, 1});
  Indexes order;
  const auto placement = place(hosts, map);
  for (const Node& node : placement->nodes) order.push_back(node.index);
  return order;
}

TEST(Bound, NoOrderIsBelowTheBoundAndOursReachesTheRings) {
  std::mt19937 random(20261122);
  constexpr double rounding = 1 - 1e-9;
  for (int round = 0; round < tried(300); ++round) {
    const Sample sample = cost::random_sample(random);
    const cost::Network network = cost::network_of(sample);
    Indexes order = cost::in_order(network.nodes());
    std::array<double, cost::collectives.size()> least{}, best{};
    best.fill(std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < cost::collectives.size(); ++i) {
      least[i] = cost::least_seconds(cost::collectives[i].collective, network, order, 1e9);
    }
    do {
      for (std::size_t i = 0; i < cost::collectives.size(); ++i) {
        const cost::Cost found =
            cost::cost_of(cost::collectives[i].collective, network, order, 1e9);
        best[i] = std::min(best[i], found.seconds);
      }
    } while (std::ranges::next_permutation(order).found);
    for (std::size_t i = 0; i < cost::collectives.size(); ++i) {
      ASSERT_GE(best[i], least[i] * rounding) << cost::collectives[i].text << ": " << sample.nodes;
    }
    const double ours =
        cost::cost_of(cost::Collective::ring, network, by_topology(sample), 1e9).seconds;
    ASSERT_LE(ours * rounding, least[0]) << sample.nodes;
    ASSERT_LE(best[2] * rounding, least[2]) << sample.nodes;
  }
}

}  // namespace
}  // namespace toprun::placement
