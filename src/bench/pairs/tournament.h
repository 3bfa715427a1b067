#pragma once

#include <compare>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace toprun::pairs {

// Two nodes by their index, a < b.
struct Pair {
  std::size_t a = 0;
  std::size_t b = 0;
  auto operator<=>(const Pair&) const = default;
};

// The pair of two different nodes, given in any order.
Pair pair_of(std::size_t a, std::size_t b);

// Pairs that are measured at the same time; no node is in two of them.
using Round = std::vector<Pair>;

// Where a node is: the names of its domains from the outermost inwards, such as {"pod1", "rack3"}.
// Empty: not known.
using DomainPath = std::vector<std::string>;

inline constexpr std::size_t every_round = std::numeric_limits<std::size_t>::max();

// The circle method: N − 1 rounds for an even number of nodes, N for an odd one, in which one node
// rests per round. Every two nodes meet exactly once. Where that is more than `most_rounds`, rounds
// are left out evenly, so that each node still meets nodes near and far in the numbering.
std::vector<Round> tournament(std::size_t nodes, std::size_t most_rounds = every_round);

// All pairs whose nodes share the same number of domains.
struct Batch {
  std::size_t shared = 0;  // domains: the most within a leaf, 0 across everything
  std::vector<Round> rounds;
};

// The pairs of the same leaf first, then of the same pod, and so on outwards; batches without a
// pair are left out. In a round of an outer batch whole domains are paired, node by node, so that
// domains of the same size load their uplinks alike. Every two nodes meet exactly once, unless a
// batch has more than `most_rounds`. Domains are told apart by all names from the top: rack r1 of
// pod p1 is not rack r1 of pod p2. A node whose place is shorter than others' is a domain of its
// own below its last.
std::vector<Batch> batches(std::span<const DomainPath> places,
                           std::size_t most_rounds = every_round);

}  // namespace toprun::pairs
