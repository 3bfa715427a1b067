#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "decide/cost/traffic.h"
#include "decide/cost/ways.h"

namespace toprun::placement {

inline constexpr double rounding = 1e-9;  // relative cost differences below this count as equal

// Assigns slots to nodes so that the traffic between the slots occupies the links for the shortest
// time: a quadratic assignment onto a tree.
struct Mapping {
  std::vector<std::size_t> nodes;  // by slot
  double cost = 0;                 // total time of all links per step, in seconds
  double plain = 0;                // the same for the plain order
  double bound = 0;                // lower bound for all orders
  bool exact = false;              // `cost` is the minimum of all orders
};

// The total time of all links per step, in seconds, if slot s runs on nodes[s].
double cost_of(const cost::Graph& graph, const cost::Ways& ways,
               std::span<const std::size_t> nodes);

// A lower bound for the cost of all orders: in a domain of m nodes, a slot shares the domain with
// at most m − 1 others. So at most the bytes to those m − 1 slots to which it sends most stay
// inside.
double bound_of(const cost::Graph& graph, const cost::Ways& ways);

// The input of the mapping. Slot s has processes[n] ranks, where n is its node in the plain order,
// so only nodes with equal numbers of processes may be exchanged.
struct Slots {
  const cost::Graph& graph;
  // of the grid of slots, innermost first; their product is the number of slots
  std::span<const int> dimensions;
  std::span<const std::size_t> plain;  // the nodes in topology order
  std::size_t placed;                  // the number of nodes with a known place; they come first
  std::span<const int> processes;      // by node
};

// Returns the best of these candidates: the plain order; orders of the grid's dimensions, each
// split into prime factors that may be nested in any way, along the plain order and along an order
// whose domains contain whole segments of the first factors' product; improvements of these by
// exchanges of pairs of nodes. If at most max_assignments assignments differ (see exact_mapping.h),
// all are compared and the result is exact; it is also exact if its cost equals the bound. The cost
// is never above that of the plain order, and the plain order stays if nothing is cheaper. Counts
// limit the work, not time: the same input gives the same order everywhere.
Mapping map_slots(const Slots& slots, const cost::Domains& domains, const cost::Ways& ways);

}  // namespace toprun::placement
