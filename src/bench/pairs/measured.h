#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/pairs/tournament.h"

namespace toprun::pairs {

struct Cluster {
  std::vector<std::string> names;   // the nodes' names; elsewhere a node is an index in this list
  std::vector<DomainPath> places;   // one per node, or an empty list
  std::vector<std::string> levels;  // names of the levels in `places`, outermost first, such as
                                    // "pod", "rack"; a level without a name is called "domain"
  // The host of each node, if nodes are ranks and several are on one host. Empty: the names are
  // hosts.
  std::vector<std::string> hosts = {};

  const std::string& host_of(std::size_t node) const {
    return hosts.empty() ? names[node] : hosts[node];
  }
};

// `not_measured`: one of the nodes was still busy with an earlier round, so the pair is not judged.
enum class State { measured, hung, failed, not_measured };

// The measurement between two different nodes.
struct Measured {
  std::size_t a = 0;
  std::size_t b = 0;
  std::size_t round = 0;  // pairs with the same round number were measured at the same time
  // Greater than 0 if the state is `measured`.
  double gbps_ab = 0;
  double gbps_ba = 0;
  double latency_us = 0;  // one value for both directions; used only if latencies are judged
  State state = State::measured;
};

// The measured value by which pairs are judged.
enum class Figure { rate, latency };

// Direction 0: from the first node of a pair to the second. Direction 1: back.
inline constexpr std::size_t directions = 2;

// The speed of a pair, for which higher is better: Gbit/s or 1/µs. 0: the pair has no result.
inline double pace(const Measured& measured, std::size_t direction, Figure figure) {
  if (measured.state != State::measured) return 0;
  if (figure == Figure::latency) return 1 / measured.latency_us;
  return direction == 0 ? measured.gbps_ab : measured.gbps_ba;
}

}  // namespace toprun::pairs
