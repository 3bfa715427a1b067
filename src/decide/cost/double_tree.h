#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace toprun::cost {

// NCCL's double binary tree over the positions of an order (NVIDIA/nccl, src/graph/trees.cc). In
// the first tree, a position's lowest bit determines its height: odd positions are leaves; 2, 6, 10
// … are above them; 0 is the root. The second tree is the first tree in reverse order or, for an
// odd count, shifted by one. So nearly every leaf of one tree is an inner position of the other.
// Each tree carries half of the message, upwards for the sum and downwards for the distribution.
struct DoubleTree {
  explicit DoubleTree(std::size_t count);

  // The parent of each position in the first and second tree; a root is its own parent.
  std::array<std::vector<std::size_t>, 2> parent;
  std::size_t depth = 0;  // edges from a root to its furthest leaf
  // The highest number of neighbours of a position, in both trees together.
  std::size_t most_neighbours = 0;

  // The minimum number of tree edges that leave a group of `group` positions. The number is one if
  // a single edge can cut off this number of positions, else two. 0: the group is empty or contains
  // all positions.
  std::size_t fewest_leaving(std::size_t group) const;

 private:
  std::vector<bool> cut_off_;  // by group size: whether one edge cuts off this number of positions
};

}  // namespace toprun::cost
