#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "placement/order.h"
#include "placement/teams.h"

namespace toprun::view {

// What a picture of an order shows, before it has coordinates.

inline constexpr std::size_t max_single_nodes = 100;   // with more, boxes hold several nodes
inline constexpr std::size_t max_units = 320;          // small boxes
inline constexpr std::size_t max_unplaced_units = 16;  // of those, where anything is folded
inline constexpr std::size_t max_runs = 4;             // of ranks, told of one unit

// Consecutive ranks.
struct Run {
  int first = 0;
  int count = 0;
};

// A small box: a node, or the nodes that are folded into it.
struct Unit {
  std::string name;                  // of the node or the domains, several as a host list
  std::string hosts;                 // the nodes as a host list; empty: one node, not folded
  std::optional<std::size_t> level;  // of the domains that it stands for; nullopt: nodes
  std::size_t domains = 0;           // how many
  std::size_t nodes = 0;
  std::vector<Run> ranks;   // ascending, the first max_runs
  std::size_t runs = 0;     // how many there are
  std::size_t leaving = 0;  // pairs of neighbours in the ring with only the first inside
  std::optional<placement::Teams::Range> teams;
  bool unknown = false;
};

// A box around others: a domain, nodes whose domain or place is not known, or the whole picture.
struct Frame {
  std::optional<std::size_t> level;  // nullopt: the whole picture, or nodes without a place
  std::optional<std::string> name;
  std::size_t nodes = 0;
  std::size_t leaving = 0;    // pairs of neighbours in the ring with only the first inside
  std::size_t first = 0;      // of its units, which are in a row
  std::size_t own = 0;        // units that are in no frame inside; they come before the others
  std::vector<Frame> inside;  // side by side
};

// The ring's way from one unit to another.
struct Step {
  std::size_t from = 0;
  std::size_t to = 0;
  std::optional<std::size_t> crosses;  // the outermost level whose domain the step leaves
  bool unknown = false;                // that domain, or the next, is not known
  std::size_t count = 0;               // pairs of neighbours in the ring that take this way
};

struct Sketch {
  std::string source;                      // empty: nothing is known
  std::vector<std::string> levels;         // outermost first
  std::vector<placement::Crossings> ring;  // of the order that is drawn
  std::size_t nodes = 0;
  Frame whole;
  std::vector<Unit> units;
  std::vector<Step> steps;           // by first appearance in the ring
  std::size_t steps_inside = 0;      // pairs of neighbours that share a unit
  std::optional<std::size_t> start;  // the unit that holds the first node
  std::string team_kind = {};        // as "pp"; empty: no teams are shown
  std::size_t teams = 0;
  // Seconds for which a step of the ring that leaves a domain occupies its uplink, by level; 0: not
  // known. Empty: not asked for.
  std::vector<double> step_seconds = {};
  bool folded() const { return units.size() < nodes; }
};

// `drawn`: the order whose ring is wanted, of any kind. `tree`: the same hosts and map placed by
// Order::topology without segments; boxes stand in its order, so that pictures of two orders can be
// laid side by side. Costs O(n log n).
//
// Each node is a unit while there are at most max_single_nodes. With more, each innermost domain is
// one; with more than max_units of these, each domain of the innermost level that has no more of
// them, or, where that would leave but a few, as many neighbours of the level below it as it takes.
// `teams`: of the drawn order's nodes, to be shown; nullptr: none.
Sketch sketch(const placement::Placement& tree, const placement::Placement& drawn,
              const placement::Teams* teams = nullptr);

}  // namespace toprun::view
