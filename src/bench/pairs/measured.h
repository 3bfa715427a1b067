#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/pairs/tournament.h"

namespace toprun::pairs {

struct Cluster {
  std::vector<std::string> names;   // of the nodes, which are their indexes elsewhere
  std::vector<DomainPath> places;   // one per node, or none at all
  std::vector<std::string> levels;  // of the places, outermost first, such as "pod", "rack";
                                    // where there are too few, "domain"
  // Where several nodes, as ranks, are on one host: the host of each. Empty: the names are hosts.
  std::vector<std::string> hosts = {};

  const std::string& host_of(std::size_t node) const {
    return hosts.empty() ? names[node] : hosts[node];
  }
};

// `not_measured`: one of the nodes was still busy with an earlier round, which says nothing.
enum class State { measured, hung, failed, not_measured };

// Two different nodes, measured with each other.
struct Measured {
  std::size_t a = 0;
  std::size_t b = 0;
  std::size_t round = 0;  // pairs with the same number were measured at the same time
  // For a pair with the state `measured`: > 0.
  double gbps_ab = 0;
  double gbps_ba = 0;
  double latency_us = 0;  // one figure for both directions; used only if latencies are judged
  State state = State::measured;
};

// The figure by which pairs are judged.
enum class Figure { rate, latency };

// From the first node of a pair to the second, or back.
inline constexpr std::size_t directions = 2;

// A figure for which more is better: Gbit/s, or 1/µs; 0 if the pair gave no result.
inline double pace(const Measured& measured, std::size_t direction, Figure figure) {
  if (measured.state != State::measured) return 0;
  if (figure == Figure::latency) return 1 / measured.latency_us;
  return direction == 0 ? measured.gbps_ab : measured.gbps_ba;
}

}  // namespace toprun::pairs
