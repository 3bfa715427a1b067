#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "decide/topology/path.h"

namespace toprun::cost {

// Numbers for the domains of some nodes, so that domains are compared as integers.
class Domains {
 public:
  // `paths[i]` is node i's path; all have length `levels`. Only the constructor reads the paths, so
  // the caller may delete them afterwards.
  Domains(std::span<const topology::Path* const> paths, std::size_t levels);

  // Returns the node's domain at a level as a number. Two nodes have the same number if and only if
  // they share the domain. A node with an unknown domain has a number of its own. A node without a
  // domain at this level has the number of the domain around it. So a ring edge between two nodes
  // with equal numbers leaves no domain of this level.
  std::uint32_t domain(std::size_t node, std::size_t level) const {
    return domain_[node * levels_ + level];
  }
  // Returns the position of the node's domain among all domains of its level. Domains are sorted by
  // parent, then in natural order. All nodes whose domain is unknown, but whose parent domain is
  // the same, share one position after the parent's known domains.
  std::uint32_t place(std::size_t node, std::size_t level) const {
    return place_[node * levels_ + level];
  }
  // Whether the number `domain` stands for a domain of this level. Such a domain has an uplink.
  // False: the number stands for a domain of an outer level.
  bool is_own(std::uint32_t domain, std::size_t level) const { return own_[level][domain]; }
  // Returns the number of domains of a level.
  std::size_t count(std::size_t level) const { return count_[level]; }
  std::size_t levels() const { return levels_; }

  // Returns the number of ring edges that leave a domain of the level, if the nodes form a ring in
  // this order.
  std::size_t crossings(std::span<const std::size_t> order, std::size_t level) const;
  // Returns the minimum of crossings() over all orders: each of d ≥ 2 domains must be left at least
  // once.
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

}  // namespace toprun::cost
