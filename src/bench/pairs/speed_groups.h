#pragma once

#include <span>
#include <vector>

#include "bench/pairs/tournament.h"

namespace toprun::pairs {

// A group of nodes whose pairs with each other are clearly faster than their pairs with other
// nodes, for example because the nodes are in the same rack.
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
