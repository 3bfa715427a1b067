#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "placement/order.h"

namespace toprun::placement {

// What a picture of an order shows, before it has coordinates.

inline constexpr std::size_t max_units = 320;          // small boxes: what is more is folded
inline constexpr std::size_t max_unplaced_units = 16;  // of those, where anything is folded
inline constexpr std::size_t max_steps = 2'000;        // lines between them

// A small box: a node, or the nodes that are folded into it.
struct Unit {
  std::string name;                  // of the node or the domains, several as a host list
  std::string hosts;                 // the nodes as a host list; empty: one node, not folded
  std::optional<std::size_t> level;  // of the domains that it stands for; nullopt: nodes
  std::size_t domains = 0;           // how many
  std::size_t nodes = 0;
  int first_rank = 0;  // the lowest
  int nproc = 0;       // of all its nodes
  bool unknown = false;
};

// A box around others: a domain, nodes whose domain or place is not known, or the whole picture.
struct Frame {
  std::optional<std::size_t> level;  // nullopt: the whole picture, or nodes without a place
  std::optional<std::string> name;
  std::size_t nodes = 0;
  std::size_t first = 0;      // of its units, which are in a row
  std::size_t own = 0;        // units that are in no frame inside; they come before the others
  std::vector<Frame> inside;  // side by side
};

// The ring's way from one unit to another.
struct Step {
  std::size_t from = 0;
  std::size_t to = 0;
  std::optional<std::size_t> crosses;  // the outermost level of which a domain is left
  bool unknown = false;                // that domain, or the next, is not known
  std::size_t count = 0;               // pairs of neighbours in the ring that take this way
};

struct Sketch {
  std::string source;               // empty: nothing is known
  std::vector<std::string> levels;  // outermost first
  std::vector<Crossings> ring;      // of the order that is drawn
  std::size_t nodes = 0;
  Frame whole;
  std::vector<Unit> units;
  std::vector<Step> steps;           // by first appearance in the ring
  std::size_t steps_inside = 0;      // pairs of neighbours that share a unit
  std::size_t steps_left_out = 0;    // ways that are too many to draw, those that fewest pairs take
  std::optional<std::size_t> start;  // the unit that holds the first node
};

// `drawn`: the order whose ring is wanted, of any kind. `tree`: the same hosts and map placed by
// Order::topology without segments; boxes stand in its order, so that pictures of two orders can be
// laid side by side. Costs O(n log n).
//
// Everything is shown while there are at most max_units nodes. With more, the domains of the
// innermost level that has no more of them become units; where that would leave but a few, those of
// the level below it (or the nodes) do, as many neighbours in each as it takes.
Sketch sketch(const Placement& tree, const Placement& drawn);

}  // namespace toprun::placement
