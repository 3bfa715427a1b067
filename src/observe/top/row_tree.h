#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <vector>

#include "observe/snapshot/picture.h"

// The job's ranks by rack and node, and the rows to show: folded or not, sorted or not; pure
// functions.
namespace toprun::top {

enum class Kind { rack, node, rank };

// A rack, node or rank by its number. Racks are in the order of their first nodes, nodes by group
// rank.
struct Item {
  Kind kind = Kind::node;
  std::size_t number = 0;

  auto operator<=>(const Item&) const = default;
};

struct Rack {
  Outside name;  // the nodes' location without its last part
  std::vector<std::size_t> nodes;
};

// Nodes with an unknown location are in no rack.
struct Tree {
  std::vector<Rack> racks;
  std::vector<std::size_t> loose_nodes;
};
Tree tree_of(const snapshot::Picture& picture);

// A node's ranks, [first, end), limited to the ranks in the picture.
struct Ranks {
  std::size_t first = 0;
  std::size_t end = 0;
};
Ranks ranks_of(const snapshot::Picture& picture, std::size_t node);
// Returns the picture's number of nodes if no node has the rank.
std::size_t node_of(const snapshot::Picture& picture, std::size_t rank);

// The sort key for ranks, largest first. All keys except `order` show no racks and nodes.
enum class Sort { order, cpu, memory, silence };

// The racks and nodes that the user folded or unfolded.
using Folds = std::map<Item, bool>;  // true: unfolded

struct Row {
  Item item;
  std::size_t depth = 0;
  bool is_open = false;  // for a rack or node: its contents follow
};
// Racks and nodes that the user did not touch are open if all of their kind fit in `lines`.
std::vector<Row> rows_of(const snapshot::Picture& picture, const Tree& tree, Sort sort,
                         const Folds& folds, std::size_t lines);

}  // namespace toprun::top
