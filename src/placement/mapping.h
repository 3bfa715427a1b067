#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "placement/traffic.h"
#include "placement/ways.h"

namespace toprun::placement {

// Which node runs which slot, so that what the slots send to each other occupies the links for as
// short as possible: a quadratic assignment onto a tree.
struct Mapping {
  std::vector<std::size_t> nodes;  // by slot
  double cost = 0;                 // seconds of links' time per step, all links together
  double plain = 0;                // the same of the order that was handed in
  double bound = 0;                // no order costs less
  bool exact = false;              // nor less than `cost`
};

// The seconds of all links that a step takes if slot s runs on nodes[s].
double cost_of(const Graph& graph, const Ways& ways, std::span<const std::size_t> nodes);

// Less than which no order costs: in a domain of m nodes, a slot has at most m − 1 others, and no
// more inside than the bytes to those with which it shares most.
double bound_of(const Graph& graph, const Ways& ways);

// What is to be placed. Slot s has processes[n] ranks if n is the node that runs it in the plain
// order, so only nodes of equally many may change places.
struct Slots {
  const Graph& graph;
  std::span<const int> dimensions;     // of the grid of slots, innermost first; product: the slots
  std::span<const std::size_t> plain;  // the nodes in topology order
  std::size_t placed;                  // so many of them, the first, have a place
  std::span<const int> processes;      // by node
};

// The best of: the plain order; orders of the grid's dimensions, each a product of primes that may
// be nested in one another in any way, laid along the plain order and along one whose domains hold
// whole segments of the product's first factors; and what exchanging pairs of nodes makes of it.
// Where there are no more than max_assignments really different ones, none is left out (see
// exact_mapping.h), and the result is exact; it also is where it costs no more than the bound. It
// never costs more than the plain order, which stays where nothing is cheaper. The work is bounded
// by counts, not by time: the same input gives the same order everywhere.
Mapping map_slots(const Slots& slots, const Domains& domains, const Ways& ways);

}  // namespace toprun::placement
