#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "fabric/settings.h"

namespace toprun::fabric {

// A launch waits for what it reads of the network, and a table of 256 GIDs is 256 files or more. So
// these read a port's table only until its right entry is certain: an IPv4 address over RoCE v2 on
// the adapter's own interface, which is up. Neither our choice nor NCCL's search takes a later one.
// What is decided is the same as with whole tables.

// Earlier versions, from 2.21 on, fail at an entry whose type cannot be read.
inline constexpr NcclVersion first_that_bears_hidden_types{2, 26, 2};

std::vector<Device> read_devices_as_needed(const Sysfs& sysfs,
                                           std::span<const Interface> interfaces);

// As read_node(), with `nccl` as the version. NCCL before 2.26.2 reads the type of each entry, and
// fails where one cannot be read; for these and for unknown versions, and where the user names an
// entry, the tables are read whole.
NodeFabric read_node_as_needed(const Sysfs& sysfs, const Environment& environment,
                               std::string_view profile_name,
                               const std::optional<NcclVersion>& nccl);

}  // namespace toprun::fabric
