#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "observe/snapshot/picture.h"

// The job's ranks by rack and node, and what of it is shown: folded or not, sorted or not; pure.
namespace toprun::top {

enum class Kind { rack, node, rank };

// A rack, node or rank by its number: racks in the order of their first nodes, nodes by group rank.
struct Item {
  Kind kind = Kind::node;
  std::size_t number = 0;

  auto operator<=>(const Item&) const = default;
};

struct Rack {
  Outside name;  // the nodes' location without its last part
  std::vector<std::size_t> nodes;
};

// Nodes whose location is unknown are in no rack.
struct Tree {
  std::vector<Rack> racks;
  std::vector<std::size_t> loose_nodes;
};
Tree tree_of(const snapshot::Picture& picture);

// A node's ranks: [first, end), within what the picture has.
struct Ranks {
  std::size_t first = 0;
  std::size_t end = 0;
};
Ranks ranks_of(const snapshot::Picture& picture, std::size_t node);
// The picture's number of nodes: none has the rank.
std::size_t node_of(const snapshot::Picture& picture, std::size_t rank);

// By what ranks are sorted, the largest first. Other than `order`: without racks and nodes.
enum class Sort { order, cpu, memory, silence };

// What was folded or unfolded by hand, by rack and node.
using Folds = std::map<Item, bool>;  // true: unfolded

struct Row {
  Item item;
  std::size_t depth = 0;
  bool is_open = false;  // of a rack or node: what is in it follows
};
// What is not folded by hand is open if all of its kind fits in `lines`.
std::vector<Row> rows_of(const snapshot::Picture& picture, const Tree& tree, Sort sort,
                         const Folds& folds, std::size_t lines);

}  // namespace toprun::top
