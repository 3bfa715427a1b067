#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topology/tree.h"

namespace toprun::topology {

// How many (leaf, switch above it) pairs one network may have: 4,000 leaves below 1,000 spines.
inline constexpr std::size_t max_switch_pairs = 4'000'000;

// A switch as topology.conf describes it: a leaf has nodes, any other one children.
struct Switch {
  std::string name;
  std::vector<std::string> nodes;
  std::vector<std::string> children;
  std::string where;                      // "topology.conf:3:1", for errors
  std::string evidence;                   // "topology.conf:3"
  std::optional<std::size_t> level = {};  // as Slurm counts it, 0 the leaf's; unset: it is not told
};

// A block, or a group of blocks.
struct Block {
  std::string name;
  std::vector<std::string> nodes;
  std::string where;
  std::string evidence;
};
struct BlockGroup {
  std::size_t nodes = 0;            // BlockSize: how many nodes it is planned for
  std::vector<std::string> blocks;  // names
  std::string where;
};

// The tree of switches as paths. Levels count from the leaf, a switch is as high as
// Slurm says, or else one above its highest child. Where several switches of a level are above a
// node (fat trees, nodes on two leaves), all of them together are one domain, named as a hostlist:
// "sp[0-1]". A host has no domain of a level that is skipped above it or that lies above its
// topmost switch. Error: a switch twice, a child that does not exist, a cycle (the whole of it),
// more levels than max_levels.
Result<Map> map_of_switches(std::string source, const std::vector<Switch>& switches);

// The groups that BlockSizes= (block_sizes:) form: Slurm joins consecutive blocks, in the order of
// the file, into each size above the smallest. `where` is that key's place.
std::vector<BlockGroup> groups_of_sizes(const std::vector<Block>& blocks,
                                        std::vector<std::size_t> sizes, const std::string& where);

// Blocks as paths, groups of blocks (the same sizes form a level, larger ones further out) above
// them. `size`: how many nodes a block is planned for, 0 if that is not known; of blocks with more
// a warning tells. Error: a block twice, a node in two blocks, a group of a block that does not
// exist.
Result<Map> map_of_blocks(std::string source, const std::vector<Block>& blocks,
                          const std::vector<BlockGroup>& groups, std::size_t size);

}  // namespace toprun::topology
