#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "topology/path.h"

namespace toprun::placement {

// The domains of a set of nodes as numbers, so that comparing two nodes' places compares integers.
class Domains {
 public:
  // `paths[i]` is node i's; all are `levels` long. The paths are read here only.
  Domains(std::span<const topology::Path* const> paths, std::size_t levels);

  // Node i's domain at a level: equal for two nodes iff they share it. A node whose domain is
  // unknown has a number of its own. Nodes that have none share the domain around them, which
  // counts as theirs at this level too: a step between them leaves nothing.
  std::uint32_t domain(std::size_t node, std::size_t level) const {
    return domain_[node * levels_ + level];
  }
  // Where node i's domain stands among all of its level in natural order, parents first; nodes of
  // one unknown domain share a place, behind their known neighbours.
  std::uint32_t place(std::size_t node, std::size_t level) const {
    return place_[node * levels_ + level];
  }
  // Whether it is a domain of its own, with an uplink; else the domain around stands in for it.
  bool is_own(std::uint32_t domain, std::size_t level) const { return own_[level][domain]; }
  // How many domains a level has.
  std::size_t count(std::size_t level) const { return count_[level]; }
  std::size_t levels() const { return levels_; }

  // Pairs of the ring of nodes in this order that leave a domain of the level.
  std::size_t crossings(std::span<const std::size_t> order, std::size_t level) const;
  // The least that any order reaches: each of d ≥ 2 domains must be left at least once.
  std::size_t least_crossings(std::size_t level) const {
    return count_[level] < 2 ? 0 : count_[level];
  }

 private:
  std::size_t levels_;
  std::vector<std::uint32_t> domain_;
  std::vector<std::uint32_t> place_;
  std::vector<std::size_t> count_;
  std::vector<std::vector<bool>> own_;
};

}  // namespace toprun::placement
