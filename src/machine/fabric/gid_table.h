#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "machine/fabric/devices.h"
#include "machine/fabric/interfaces.h"

namespace toprun::fabric {

// Which entries of the tables of GIDs are read. A table has 256 entries with three files each, most
// of them empty, so a launch reads only what its decisions need.
struct GidExtent {
  enum class Entries : std::uint8_t { all, needed, first };
  Entries entries = Entries::all;
  std::span<const Interface> interfaces{};  // for `needed`
  std::optional<int> named{};               // an entry that is looked at in any case
};

// Fills in the port's entries and whether types are hidden, from its folder. `needed` ends at an
// entry after which none can be a better one, nor one that NCCL's search prefers: an IPv4 address
// over RoCE v2 on the device's own interface, which is up. That is so for each version of NCCL, and
// for each range of addresses (NCCL_IB_ADDR_RANGE). Nor can types be hidden after it: the kernel
// looks up the whole entry to show its address or its type (drivers/infiniband/core/sysfs.c), so a
// table with one readable type has no address whose type is not. Only for IPv4 addresses are types
// read then, as by NCCL.
void read_gids(const Folder& folder, const Device& device, const GidExtent& extent, Port& port);

}  // namespace toprun::fabric
