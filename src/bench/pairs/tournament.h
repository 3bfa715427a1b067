#pragma once

#include <compare>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace toprun::pairs {

// Two nodes, identified by their indexes; a < b.
struct Pair {
  std::size_t a = 0;
  std::size_t b = 0;
  auto operator<=>(const Pair&) const = default;
};

// Returns the pair of two different nodes, which may be given in any order.
Pair pair_of(std::size_t a, std::size_t b);

// Pairs that are measured at the same time. Each node is in at most one pair.
using Round = std::vector<Pair>;

// A node's place in the network: the names of its domains, outermost first, such as {"pod1",
// "rack3"}. Empty: the place is unknown.
using DomainPath = std::vector<std::string>;

inline constexpr std::size_t every_round = std::numeric_limits<std::size_t>::max();

// Returns rounds in which every two nodes form a pair exactly once, by the circle method for
// round-robin tournaments. For an even number N of nodes, there are N − 1 rounds. For an odd
// number, there are N rounds, and one node rests per round. If there are more than `most_rounds`
// rounds, omits rounds at even intervals, so that each node still meets nodes with near and distant
// indexes.
std::vector<Round> tournament(std::size_t nodes, std::size_t most_rounds = every_round);

// All pairs whose nodes share the same number of domains.
struct Batch {
  std::size_t shared = 0;  // number of domains that the nodes of each pair share: highest within a
                           // leaf, 0 between outermost domains
  std::vector<Round> rounds;
};

// Divides all pairs into batches: first pairs in the same leaf, then pairs in the same pod, and so
// on outwards. Empty batches are omitted. In a round of pairs between domains, all nodes of a
// domain have their partners in the same other domain. So domains of the same size load their
// uplinks equally. Every two nodes form a pair exactly once, unless a batch has more than
// `most_rounds` rounds. A domain is identified by its path: rack r1 in pod p1 is not rack r1 in pod
// p2. If a node's path is shorter than other paths, the node forms a separate domain inside the
// last domain of its path.
std::vector<Batch> batches(std::span<const DomainPath> places,
                           std::size_t most_rounds = every_round);

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

// The result of measuring the pair of two different nodes.
struct Measured {
  std::size_t a = 0;
  std::size_t b = 0;
  std::size_t round = 0;  // pairs with the same round number were measured at the same time
  // Always above 0 if the state is `measured`.
  double gbps_ab = 0;
  double gbps_ba = 0;
  double latency_us = 0;  // one value for both directions; used only if latencies are judged
  State state = State::measured;
  // The rate of each direction while the other direction is idle; 0: not measured. If both
  // directions are used at once, a slow direction also slows down the fast direction, because the
  // fast direction's acknowledgements wait in the slow direction's queue.
  double alone_ab = 0;
  double alone_ba = 0;
};

// The measured value by which pairs are judged.
enum class Figure { rate, latency };

// Direction 0: from the first node of a pair to the second. Direction 1: back.
inline constexpr std::size_t directions = 2;

// Returns the pace of a pair in Gbit/s or 1/µs; higher is better. 0 if the pair has no result.
inline double pace(const Measured& measured, std::size_t direction, Figure figure) {
  if (measured.state != State::measured) return 0;
  if (figure == Figure::latency) return 1 / measured.latency_us;
  return direction == 0 ? measured.gbps_ab : measured.gbps_ba;
}

}  // namespace toprun::pairs
