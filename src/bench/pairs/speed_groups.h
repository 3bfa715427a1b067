#pragma once

#include <span>
#include <vector>

#include "bench/pairs/measured.h"

namespace toprun::pairs {

// Nodes whose pairs are clearly faster than pairs between groups. Unknown racks form such groups.
struct SpeedGroup {
  std::vector<std::size_t> nodes;  // ascending, at least two
  double inside = 0;               // median of pairs within the group, Gbit/s
  double outside = 0;              // median of pairs with other nodes, Gbit/s
};

// Returns at least two groups, or no groups if the network looks flat apart from single nodes.
std::vector<SpeedGroup> speed_groups(std::size_t nodes, std::span<const Measured> measured);

// One place per node: the group's name, which is its first node. A node without a group has an
// unknown place.
std::vector<DomainPath> places_of(const Cluster& cluster, std::span<const SpeedGroup> groups);

}  // namespace toprun::pairs
