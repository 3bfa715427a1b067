#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "placement/domains.h"
#include "placement/links.h"

namespace toprun::placement {

// The domains as a tree in which nodes that share one share all around it, also where an outer
// level is not known; and what a byte costs between two nodes: the time for which it occupies
// links. That depends only on the innermost domain that they share, and never falls outwards.
class Ways {
 public:
  // Each byte passes both hosts' adapters and the uplinks, on either side, of the domains that the
  // nodes do not share; inside an NVLink domain only both hosts' NVLinks. An uplink that nobody
  // knows the figure of carries what its level's average domain of hosts does together.
  Ways(const Domains& domains, std::size_t nodes, const Links& links);

  std::size_t nodes() const { return nodes_; }
  std::size_t levels() const { return levels_; }
  std::uint32_t domain(std::size_t node, std::size_t level) const {
    return domain_[node * levels_ + level];
  }
  // How many levels the two nodes share, from outside.
  std::size_t shared(std::size_t a, std::size_t b) const {
    std::size_t level = 0;
    while (level < levels_ && domain(a, level) == domain(b, level)) ++level;
    return level;
  }
  // Seconds per byte between nodes that share so many levels.
  double seconds(std::size_t shared_levels) const { return seconds_[shared_levels]; }
  double between(std::size_t a, std::size_t b) const { return seconds_[shared(a, b)]; }

 private:
  std::size_t nodes_;
  std::size_t levels_;
  std::vector<std::uint32_t> domain_;
  std::vector<double> seconds_;
};

}  // namespace toprun::placement
