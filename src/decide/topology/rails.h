#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "decide/topology/fabric.h"

namespace toprun::topology {

// Converts "4xNDR", the form of a link in ibnetdiscover's output, to gigabits per second. The parts
// are the number of lanes and the name of the rate per lane (SDR 2.5, DDR 5, QDR 10, FDR10 10, FDR
// 14, EDR 25, HDR 50, NDR 100, XDR 200).
std::optional<double> gbps_of(std::string_view speed);

// Adds facts about the rails to a fabric's map:
//   - A warning names a host that has another adapter on a leaf than the other hosts of its group.
//     On such a host, a rank would use another rail than the ranks with the same local rank on
//     other hosts.
//   - A note names hosts with fewer active rails than most hosts of their group.
//   - links["host"] is the total bandwidth of one host's rails. If hosts differ, this is the value
//     of most hosts of the job.
// `in_job`: which hosts of the map belong to the job; warnings and notes name only these hosts.
void add_rail_facts(Fabric& fabric, const std::vector<bool>& in_job);

}  // namespace toprun::topology
