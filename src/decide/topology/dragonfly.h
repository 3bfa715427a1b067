#pragma once

#include <cstddef>
#include <vector>

#include "decide/topology/fabric.h"

namespace toprun::topology {

// A dragonfly network (Slingshot, Cascade) has no spine switches. Hosts are cabled to its switches,
// which form groups. Inside a group, a cable connects each pair of switches; single cables connect
// the groups. Returns the group of each switch, by the switch's index; `no_group`: the switch is in
// no group. Empty: the fabric is not a dragonfly.
//
// For each cable, the function counts how many neighbours its two switches have in common. A cable
// is inside a group if its count is above half of the highest count among all cables of its two
// switches. A fabric is a dragonfly if it has at least two groups, most switch pairs in a group
// have a cable, and most switches are in a group.
inline constexpr std::size_t no_group = static_cast<std::size_t>(-1);
std::vector<std::size_t> dragonfly_groups(const std::vector<FabricSwitch>& switches);

}  // namespace toprun::topology
