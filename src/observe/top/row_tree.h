#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <vector>

#include "observe/snapshot/picture.h"

// Pure functions for the list in `toprun top`. The functions group the job's ranks by rack and
// node, and compute the rows of the list, which the user can fold and sort.
namespace toprun::top {

enum class Kind { rack, node, rank };

// A rack, node or rank by its number. Racks are numbered in the order of their first nodes. Nodes
// are numbered by group rank.
struct Item {
  Kind kind = Kind::node;
  std::size_t number = 0;

  auto operator<=>(const Item&) const = default;
};

struct Rack {
  Outside name;  // the location of the rack's nodes, without its last part
  std::vector<std::size_t> nodes;
};

// Nodes with an unknown location are in `loose_nodes`, not in a rack.
struct Tree {
  std::vector<Rack> racks;
  std::vector<std::size_t> loose_nodes;
};
Tree tree_of(const snapshot::Picture& picture);

// The ranks of a node, [first, end), without those for which snapshot::Picture has no data.
struct Ranks {
  std::size_t first = 0;
  std::size_t end = 0;
};
Ranks ranks_of(const snapshot::Picture& picture, std::size_t node);
// Returns the node of a rank, or the number of nodes in the picture if no node has the rank.
std::size_t node_of(const snapshot::Picture& picture, std::size_t rank);

// Whether a rank, or one of a node's or rack's ranks, has failed.
bool has_failed(const snapshot::Picture& picture, const Tree& tree, Item item);

// The sort key for ranks, largest value first. The list contains racks and nodes only if the key is
// `order`.
enum class Sort { order, cpu, memory, silence };
constexpr unsigned bit_of(Sort sort) {
  return 1u << static_cast<unsigned>(sort);
}

// The racks and nodes that the user folded or unfolded.
using Folds = std::map<Item, bool>;  // true: unfolded

struct Row {
  Item item;
  std::size_t depth = 0;
  bool is_open = false;  // for a rack or node: its contents follow
};
// Returns the rows of the list. `folds` determines which racks and nodes are open. Without an entry
// in `folds`, a rack is open if it is the only rack, or if all racks and nodes fit in `lines` rows.
// A node is open if all racks, nodes and ranks fit in these rows. In what is not open, and was not
// folded by the user, the rank that is the cause of the failure still has its row, and so have
// other failed ranks, up to a quarter of `lines`.
std::vector<Row> rows_of(const snapshot::Picture& picture, const Tree& tree, Sort sort,
                         const Folds& folds, std::size_t lines);

}  // namespace toprun::top
