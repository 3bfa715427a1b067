#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include "bench/pairs/tournament.h"

namespace toprun::pairs {

// Simulates pair measurements in a cluster of racks. Hosts have 100 Gbit/s. The flows of a rack
// share the rack's uplink. Noise and faults are simulated too.
class Simulation {
 public:
  static constexpr double host_gbps = 100;
  static constexpr double bad_share = 1.0 / 3;

  struct Faults {
    std::vector<double> sends, receives;   // per host, as a share of a healthy host's rate
    std::vector<double> uplink, downlink;  // per rack
    std::optional<Pair> link;              // the bad link between two hosts
    double link_ab = 1, link_ba = 1;       // the bad link's rates, as shares of a healthy link's
                                           // rate
    double link_gbps = 2 * host_gbps;      // the bad link's maximum rate in each direction
    std::vector<std::size_t> hanging;      // hosts that hang
  };

  // `oversubscription`: the total rate of a rack's hosts, divided by the rate of the uplink.
  Simulation(std::size_t racks, std::size_t hosts, double oversubscription, double noise,
             unsigned seed)
      : hosts_(hosts),
        uplink_gbps_(host_gbps * static_cast<double>(hosts) / static_cast<double>(racks) /
                     oversubscription),
        noise_(noise),
        random_(seed) {
    for (std::size_t i = 0; i < hosts; ++i) {
      cluster.names.push_back(fmt::format("n{}", i));
      cluster.places.push_back({fmt::format("r{}", i * racks / hosts)});
    }
    cluster.levels = {"rack"};
    faults = {std::vector<double>(hosts, 1),
              std::vector<double>(hosts, 1),
              std::vector<double>(racks, 1),
              std::vector<double>(racks, 1),
              {},
              1,
              1,
              2 * host_gbps,
              {}};
  }

  std::size_t below(std::size_t limit) { return random_() % limit; }

  std::vector<Measured> measure(const std::vector<Round>& rounds) {
    std::vector<Measured> out;
    for (std::size_t i = 0; i < rounds.size(); ++i) measure_round(rounds[i], i, out);
    return out;
  }

  std::vector<Measured> first_pass() {
    std::vector<Round> rounds;
    for (const Batch& batch : batches(cluster.places)) {
      rounds.insert(rounds.end(), batch.rounds.begin(), batch.rounds.end());
    }
    return measure(rounds);
  }

  Cluster cluster;
  Faults faults;

 private:
  std::size_t rack(std::size_t host) const { return host * faults.uplink.size() / hosts_; }

  void measure_round(const Round& round, std::size_t number, std::vector<Measured>& out) {
    std::vector<double> flows(faults.uplink.size());
    for (const auto& [a, b] : round) {
      if (rack(a) == rack(b)) continue;
      ++flows[rack(a)];
      ++flows[rack(b)];
    }
    for (const auto& [a, b] : round) {
      const bool marked = faults.link == Pair{a, b};
      Measured pair{a, b, number};
      const double most = marked ? faults.link_gbps : 2 * host_gbps;
      pair.gbps_ab = std::min(rate(a, b, flows), most * noise()) * (marked ? faults.link_ab : 1);
      pair.gbps_ba = std::min(rate(b, a, flows), most * noise()) * (marked ? faults.link_ba : 1);
      pair.latency_us = 1000 / (rate(a, b, flows) + rate(b, a, flows));
      const auto hangs = [&](std::size_t host) {
        return std::ranges::find(faults.hanging, host) != faults.hanging.end();
      };
      if (hangs(a) || hangs(b)) pair.state = State::hung;
      out.push_back(pair);
    }
  }

  double rate(std::size_t from, std::size_t to, const std::vector<double>& flows) {
    double gbps = host_gbps * std::min(faults.sends[from], faults.receives[to]);
    if (rack(from) != rack(to)) {
      gbps = std::min({gbps, uplink_gbps_ * faults.uplink[rack(from)] / flows[rack(from)],
                       uplink_gbps_ * faults.downlink[rack(to)] / flows[rack(to)]});
    }
    return gbps * noise();
  }

  double noise() { return std::max(least_noise_, 1 + noise_ * normal_(random_)); }

  static constexpr double least_noise_ = 0.05;
  std::size_t hosts_;
  double uplink_gbps_;
  double noise_;
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
};

}  // namespace toprun::pairs
