#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "machine/fabric/settings.h"

namespace toprun::fabric {

// Faster variants of the functions that read the network. A launch waits for their results, and a
// large machine has some thousand files. These variants read only the data that choose_ports(),
// decide(), mistakes(), why_no_rdma() and summary_of() use. Those five functions return the same
// results as with all data. Data that is only shown to people is not read.

// `named_gid`: an entry that is always read from each GID table.
std::vector<Device> read_devices_as_needed(const Sysfs& sysfs,
                                           std::span<const Interface> interfaces,
                                           std::optional<int> named_gid);

// Like read_node().
NodeFabric read_node_as_needed(const Sysfs& sysfs, const Environment& environment,
                               std::string_view profile_name);

}  // namespace toprun::fabric
