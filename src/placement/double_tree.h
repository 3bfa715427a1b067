#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace toprun::placement {

// NCCL's double binary tree over the positions of an order (NVIDIA/nccl, src/graph/trees.cc). In
// the first tree a position's lowest bit tells its height: odd ones are leaves, 2, 6, 10 … are
// above them, 0 is the root. The second is the first seen from the other end, or with an odd count
// shifted by one, so that nearly every leaf of one is inside the other. Each tree carries half of
// the message, upwards to add and downwards to spread.
struct DoubleTree {
  explicit DoubleTree(std::size_t count);

  // Of each position in the first and in the second tree; a root's is itself.
  std::array<std::vector<std::size_t>, 2> parent;
  std::size_t depth = 0;  // edges from a root to its furthest leaf
  // Neighbours in both trees together, of the position that has most.
  std::size_t most_neighbours = 0;

  // How many edges of a tree leave a group of so many positions, at the least: one if a single edge
  // can cut off so many, else two. 0: the group is all or nobody.
  std::size_t fewest_leaving(std::size_t group) const;

 private:
  std::vector<bool> cut_off_;  // by count: whether some edge divides the tree so
};

}  // namespace toprun::placement
