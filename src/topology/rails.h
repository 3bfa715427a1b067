#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "topology/fabric.h"

namespace toprun::topology {

// Gigabits per second of "4xNDR", as ibnetdiscover writes a link: the lanes and their signalling
// rate by name (SDR 2.5, DDR 5, QDR 10, FDR10 10, FDR 14, EDR 25, HDR 50, NDR 100, XDR 200 each).
std::optional<double> gbps_of(std::string_view speed);

// Adds facts about the rails to the map of a fabric:
//   a warning for hosts with an adapter on the leaf of another rail of their group, so that equal
//   local ranks meet on different rails;
//   a note for hosts with fewer active rails than most of their group;
//   links["host"], the rate of most hosts' rails together.
// `in_job`: the hosts of the map that warnings and notes may be about.
void tell_of_rails(Fabric& fabric, const std::vector<bool>& in_job);

}  // namespace toprun::topology
