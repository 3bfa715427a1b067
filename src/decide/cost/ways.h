#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "decide/cost/domains.h"
#include "decide/cost/links.h"

namespace toprun::cost {

// The domains as a tree, and the cost of a byte between two nodes. Nodes that share a domain share
// all domains around it, even if an outer level is unknown. The cost is the time for which the byte
// occupies links. The cost depends only on the innermost domain that the two nodes share. If two
// nodes share only an outer domain, the cost is not lower.
class Ways {
 public:
  // Each byte uses both hosts' adapters. On both sides, a byte also uses the uplinks of the domains
  // that the nodes do not share. Inside an NVLink domain, a byte uses only both hosts' NVLinks. An
  // uplink with an unknown rate is assumed to have the total rate of the hosts in an average domain
  // of its level.
  Ways(const Domains& domains, std::size_t nodes, const Links& links);

  std::size_t nodes() const { return nodes_; }
  std::size_t levels() const { return levels_; }
  std::uint32_t domain(std::size_t node, std::size_t level) const {
    return domain_[node * levels_ + level];
  }
  // The number of levels that the two nodes share, counted from the outermost.
  std::size_t shared(std::size_t a, std::size_t b) const {
    std::size_t level = 0;
    while (level < levels_ && domain(a, level) == domain(b, level)) ++level;
    return level;
  }
  // Seconds per byte between nodes that share this number of levels.
  double seconds(std::size_t shared_levels) const { return seconds_[shared_levels]; }
  double between(std::size_t a, std::size_t b) const { return seconds_[shared(a, b)]; }

 private:
  std::size_t nodes_;
  std::size_t levels_;
  std::vector<std::uint32_t> domain_;
  std::vector<double> seconds_;
};

}  // namespace toprun::cost
