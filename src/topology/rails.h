#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "topology/fabric.h"

namespace toprun::topology {

// Gigabits per second of "4xNDR", as ibnetdiscover writes a link: the lanes and their signalling
// rate by name (SDR 2.5, DDR 5, QDR 10, FDR10 10, FDR 14, EDR 25, HDR 50, NDR 100, XDR 200 each).
std::optional<double> gbps_of(std::string_view speed);

// Adds to the map of a fabric what its rails tell:
//   a warning for hosts of which an adapter is on the leaf that another adapter of the same group's
//   hosts is on, so that equal local ranks meet on different rails;
//   a note for hosts with fewer rails up than most of their group;
//   links["host"], what most hosts' rails carry together.
// `in_job`: which of the map's hosts warnings and notes may be about.
void tell_of_rails(Fabric& fabric, const std::vector<bool>& in_job);

}  // namespace toprun::topology
