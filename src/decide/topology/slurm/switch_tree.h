#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decide/topology/tree.h"

namespace toprun::topology {

// The maximum number of pairs (leaf, switch above it) in a network, such as 4,000 leaves below
// 1,000 spines.
inline constexpr std::size_t max_switch_pairs = 4'000'000;

// A switch in a topology.conf: a leaf has nodes, any other switch has children.
struct Switch {
  std::string name;
  std::vector<std::string> nodes;
  std::vector<std::string> children;
  std::string where;                      // "topology.conf:3:1", for errors
  std::string evidence;                   // "topology.conf:3"
  std::optional<std::size_t> level = {};  // Slurm's level number, leaf = 0; unset: unknown
};

// A block, or a group of blocks.
struct Block {
  std::string name;
  std::vector<std::string> nodes;
  std::string where;
  std::string evidence;
};
struct BlockGroup {
  std::size_t nodes = 0;            // BlockSize: the planned number of nodes
  std::vector<std::string> blocks;  // names
  std::string where;
};

// Converts the tree of switches to paths. Levels count from the leaf. A switch's level is Slurm's
// level number; if that is unknown, it is one more than the level of its highest child. If several
// switches of a level are above a node (fat trees, nodes on two leaves), these switches form one
// domain with a hostlist as its name: "sp[0-1]". A host has no domain at a level that its branch
// skips, or at a level above its topmost switch. Errors: a duplicate switch, a child that does not
// exist, a cycle (the message shows all of it), more levels than max_levels.
Result<Map> map_of_switches(std::string source, const std::vector<Switch>& switches);

// Returns the groups that BlockSizes= (block_sizes:) defines. For each size above the smallest,
// Slurm joins consecutive blocks in the order of the file. `where` is the position of the key that
// defines the sizes.
std::vector<BlockGroup> groups_of_sizes(const std::vector<Block>& blocks,
                                        std::vector<std::size_t> sizes, const std::string& where);

// Converts blocks, and the groups of blocks above them, to paths. Groups of equal size form a
// level; levels with larger sizes are further out. `size`: the planned number of nodes per block, 0
// if unknown; larger blocks cause a warning. Errors: a duplicate block, a node in two blocks, a
// group with a block that does not exist.
Result<Map> map_of_blocks(std::string source, const std::vector<Block>& blocks,
                          const std::vector<BlockGroup>& groups, std::size_t size);

}  // namespace toprun::topology
