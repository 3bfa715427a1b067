#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "machine/fabric/settings.h"

namespace toprun::fabric {

// A launch waits for what it reads of the network, which is some thousand files on a large machine.
// These read what choose_ports(), decide(), mistakes(), why_no_rdma() and summary_of() need, and
// the result of these is the same as with all. What only people read is left out.

// `named_gid`: an entry of each table that is looked at in any case.
std::vector<Device> read_devices_as_needed(const Sysfs& sysfs,
                                           std::span<const Interface> interfaces,
                                           std::optional<int> named_gid);

// As read_node().
NodeFabric read_node_as_needed(const Sysfs& sysfs, const Environment& environment,
                               std::string_view profile_name);

}  // namespace toprun::fabric
