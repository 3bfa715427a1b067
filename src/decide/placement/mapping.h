#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "decide/cost/links.h"
#include "decide/cost/traffic.h"

namespace toprun::placement {

inline constexpr double rounding = 1e-9;  // relative cost differences below this are ignored

// An assignment of slots to nodes that minimises the time in which the slots' traffic occupies
// links. The search for this assignment is a quadratic assignment problem on a tree.
struct Mapping {
  std::vector<std::size_t> nodes;  // by slot
  double cost = 0;                 // total time of all links per step, in seconds
  double plain = 0;                // the cost of the plain order
  double bound = 0;                // no order costs less than this
  bool exact = false;              // true: no order has a lower cost
};

// Returns the total time of all links per step, in seconds, if slot s runs on nodes[s].
double cost_of(const cost::Graph& graph, const cost::Ways& ways,
               std::span<const std::size_t> nodes);

// Returns a lower bound: no order costs less. In a domain of m nodes, a slot shares the domain with
// at most m − 1 other slots. So at most the slot's m − 1 largest flows stay inside the domain.
double bound_of(const cost::Graph& graph, const cost::Ways& ways);

// The input for map_slots(). Slot s has as many ranks as node plain[s] has processes. So two nodes
// can be exchanged only if they have equal numbers of processes.
struct Slots {
  const cost::Graph& graph;
  // The grid's dimensions, innermost first; their product is the number of slots.
  std::span<const int> dimensions;
  std::span<const std::size_t> plain;  // the nodes in topology order
  std::size_t placed;                  // how many nodes have a known place; in `plain`, they come
                                       // first
  std::span<const int> processes;      // by node
};

// Returns the best of these candidates:
//   - The plain order, which is the topology order.
//   - Orders from the grid. Each dimension is split into prime factors. Nested loops, one for each
//     factor, visit the slots; every nesting gives another sequence of slots. The slots in this
//     sequence get the nodes in plain order, or in the order of in_segments() with the product of
//     the innermost factors as the segment size.
//   - The best of these orders, improved by exchanges of pairs of nodes.
// If there are at most max_assignments different assignments (see exact_mapping.h), all are
// compared and the result is exact. The result is also exact if its cost equals the bound. The
// plain order is returned if no candidate is cheaper. All limits are numbers of steps, not times,
// so the same input gives the same order on every machine.
Mapping map_slots(const Slots& slots, const cost::Domains& domains, const cost::Ways& ways);

}  // namespace toprun::placement
