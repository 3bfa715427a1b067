#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "decide/placement/groups.h"
#include "decide/placement/order.h"

namespace toprun::picture {

// The content of a picture of a node order, without coordinates.

inline constexpr std::size_t max_single_nodes = 100;   // if there are more nodes, a box contains
                                                       // several nodes
inline constexpr std::size_t max_units = 320;          // limit for the small boxes
inline constexpr std::size_t max_unplaced_units = 16;  // how many of max_units may be nodes without
                                                       // a place, if anything is folded
inline constexpr std::size_t max_runs = 4;             // limit for the ranges of ranks of a unit

// Consecutive ranks.
struct Run {
  int first = 0;
  int count = 0;
};

// A small box: one node, or several folded nodes.
struct Unit {
  std::string name;                  // name of the node or domain; several names as a host list
  std::string hosts;                 // the nodes as a host list; empty: one node, not folded
  std::optional<std::size_t> level;  // the level of the domains that the unit stands for; nullopt:
                                     // it stands for nodes
  std::size_t domains = 0;           // number of these domains
  std::size_t nodes = 0;
  std::vector<Run> ranks;   // ascending, the first max_runs
  std::size_t runs = 0;     // total number of ranges
  std::size_t leaving = 0;  // pairs of ring neighbours where only the first is in this unit
  std::optional<placement::Teams::Range> teams;
  bool unknown = false;
};

// A box around other boxes: a domain, nodes with an unknown domain or place, or the whole picture.
struct Frame {
  std::optional<std::size_t> level;  // nullopt: the whole picture, or nodes without a place
  std::optional<std::string> name;
  std::size_t nodes = 0;
  std::size_t leaving = 0;  // pairs of ring neighbours where only the first is in this frame
  std::size_t first = 0;    // index of the frame's first unit; its units are consecutive
  std::size_t own = 0;  // the number of units that are in no inner frame; these units come before
                        // the others
  std::vector<Frame> inside;  // frames inside this frame
};

// A step of the ring from one unit to another.
struct Step {
  std::size_t from = 0;
  std::size_t to = 0;
  std::optional<std::size_t> crosses;  // the outermost level at which the step leaves a domain
  bool unknown = false;                // the domain that the step leaves or enters is unknown
  std::size_t count = 0;               // how many pairs of ring neighbours this step stands for
};

struct Sketch {
  std::string source;                      // empty: nothing is known
  std::vector<std::string> levels;         // outermost first
  std::vector<placement::Crossings> ring;  // the crossings of the drawn order
  std::size_t nodes = 0;
  Frame whole;
  std::vector<Unit> units;
  std::vector<Step> steps;           // by first appearance in the ring
  std::size_t steps_inside = 0;      // pairs of neighbours in the same unit
  std::optional<std::size_t> start;  // the unit with the first node
  std::string team_kind = {};        // for example "pp"; empty: no teams are shown
  std::size_t teams = 0;
  // For each level, how many seconds a ring step that leaves a domain of this level occupies the
  // domain's uplink; 0: unknown. Empty: the seconds were not requested.
  std::vector<double> step_seconds = {};
  bool folded() const { return units.size() < nodes; }
};

// Computes what a picture of a node order contains. `drawn`: the nodes of the ring that the picture
// shows, in any kind of order. `tree`: the placement of the same hosts with the same map, ordered
// by Order::topology without segments. Boxes are in the order of `tree`, so that pictures of two
// orders are comparable. Takes O(n log n).
//
// If there are at most max_single_nodes nodes, each node is a unit. If there are more nodes, each
// innermost domain is a unit. If there are more than max_units of these domains, the units come
// from an outer level: the innermost level with at most max_units domains. If that level has only a
// few domains, the units come from the next inner level, and several neighbouring domains form a
// unit. `teams`: the teams of the nodes in `drawn`; nullptr: no teams are shown.
Sketch sketch(const placement::Placement& tree, const placement::Placement& drawn,
              const placement::Teams* teams = nullptr);

}  // namespace toprun::picture
