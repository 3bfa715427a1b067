#pragma once

#include <span>
#include <vector>

#include "bench/pairs/measured.h"

namespace toprun::pairs {

// Nodes whose pairs are clearly faster than those between groups, as in racks that no source has
// named.
struct SpeedGroup {
  std::vector<std::size_t> nodes;  // ascending, two at least
  double inside = 0;               // medians, Gbit/s
  double outside = 0;              // of pairs with all other nodes
};

// At least two groups, or none: then the network looks flat, apart from single nodes.
std::vector<SpeedGroup> speed_groups(std::size_t nodes, std::span<const Measured> measured);

// Each group as a place, named by its first node; of other nodes the place is unknown.
std::vector<DomainPath> places_of(const Cluster& cluster, std::span<const SpeedGroup> groups);

}  // namespace toprun::pairs
