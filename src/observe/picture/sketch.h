#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "decide/placement/order.h"
#include "decide/placement/teams.h"

namespace toprun::picture {

// The content of a picture of an order, without coordinates.

inline constexpr std::size_t max_single_nodes = 100;   // above it, boxes contain several nodes
inline constexpr std::size_t max_units = 320;          // small boxes
inline constexpr std::size_t max_unplaced_units = 16;  // of max_units, if anything is folded
inline constexpr std::size_t max_runs = 4;             // ranges of ranks per unit

// Consecutive ranks.
struct Run {
  int first = 0;
  int count = 0;
};

// A small box: one node, or several folded nodes.
struct Unit {
  std::string name;                  // of the node or the domains; several as a host list
  std::string hosts;                 // the nodes as a host list; empty: one node, not folded
  std::optional<std::size_t> level;  // of the domains that it represents; nullopt: nodes
  std::size_t domains = 0;           // number of these domains
  std::size_t nodes = 0;
  std::vector<Run> ranks;   // ascending, the first max_runs
  std::size_t runs = 0;     // total number of ranges
  std::size_t leaving = 0;  // pairs of ring neighbours where only the first is in this unit
  std::optional<placement::Teams::Range> teams;
  bool unknown = false;
};

// A box around others: a domain, nodes with an unknown domain or place, or the whole picture.
struct Frame {
  std::optional<std::size_t> level;  // nullopt: the whole picture, or nodes without a place
  std::optional<std::string> name;
  std::size_t nodes = 0;
  std::size_t leaving = 0;  // pairs of ring neighbours where only the first is in this frame
  std::size_t first = 0;    // index of its first unit; its units are in a row
  std::size_t own = 0;  // number of units that are in no inner frame; they come before the others
  std::vector<Frame> inside;  // frames inside this one
};

// A step of the ring from one unit to another.
struct Step {
  std::size_t from = 0;
  std::size_t to = 0;
  std::optional<std::size_t> crosses;  // the outermost level at which the step leaves a domain
  bool unknown = false;                // that domain, or the next one, is unknown
  std::size_t count = 0;               // number of pairs of ring neighbours for this step
};

struct Sketch {
  std::string source;                      // empty: nothing is known
  std::vector<std::string> levels;         // outermost first
  std::vector<placement::Crossings> ring;  // of the drawn order
  std::size_t nodes = 0;
  Frame whole;
  std::vector<Unit> units;
  std::vector<Step> steps;           // by first appearance in the ring
  std::size_t steps_inside = 0;      // pairs of neighbours in the same unit
  std::optional<std::size_t> start;  // the unit with the first node
  std::string team_kind = {};        // for example "pp"; empty: no teams are shown
  std::size_t teams = 0;
  // By level: the seconds for which a ring step that leaves a domain occupies its uplink; 0:
  // unknown. Empty: not requested.
  std::vector<double> step_seconds = {};
  bool folded() const { return units.size() < nodes; }
};

// `drawn`: the order of the ring, of any kind. `tree`: the same hosts and map in Order::topology
// without segments. Boxes are in its order, so that pictures of two orders are comparable. Takes
// O(n log n).
//
// If there are at most max_single_nodes nodes, each node is a unit. If there are more, each
// innermost domain is a unit. If that gives more than max_units, each domain of the innermost level
// with at most max_units domains is a unit; if that gives only a few units, several neighbours of
// the next inner level form one. `teams`: the teams of the drawn order's nodes to show; nullptr:
// none.
Sketch sketch(const placement::Placement& tree, const placement::Placement& drawn,
              const placement::Teams* teams = nullptr);

}  // namespace toprun::picture
