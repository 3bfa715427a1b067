#pragma once

#include <cstddef>
#include <vector>

#include "topology/fabric.h"

namespace toprun::topology {

// A dragonfly (Slingshot, Cascade) has no spines: switches with hosts on them form groups in which
// each is cabled to each other, and single cables lead from group to group. The group of each
// switch, by its index; `no_group` for those in none. Empty: the fabric is no dragonfly.
//
// A cable is one inside a group if its two ends have more neighbours in common than half of what
// any other cable of either end has. A dragonfly has at least two groups; most of a group's pairs
// are cabled, and most switches are in one.
inline constexpr std::size_t no_group = static_cast<std::size_t>(-1);
std::vector<std::size_t> dragonfly_groups(const std::vector<FabricSwitch>& switches);

}  // namespace toprun::topology
