#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "machine/fabric/devices.h"
#include "machine/fabric/interfaces.h"

namespace toprun::fabric {

// Which entries of the GID tables are read. A table has 256 entries with three files each, and most
// entries are empty. So a launch reads only the entries that its decisions need.
struct GidExtent {
  enum class Entries : std::uint8_t { all, needed, first };
  Entries entries = Entries::all;
  std::span<const Interface> interfaces{};  // used for Entries::needed
  std::optional<int> named{};               // an entry that is always read
};

// Reads the port's entries and whether types are hidden, from its folder. Entries::needed stops
// after the best possible entry: an IPv4 address over RoCE v2 on the device's own interface, if the
// interface is up. NCCL's search also prefers this entry to all later entries, with each version of
// NCCL and each range of addresses (NCCL_IB_ADDR_RANGE). Types cannot be hidden after that entry:
// the kernel looks up the whole entry to show its address or its type
// (drivers/infiniband/core/sysfs.c). So a table with one readable type has no address without a
// readable type. If Entries::needed finds the best possible entry, types are read only for IPv4
// addresses, as in NCCL, and for the entry `named`.
void read_gids(const Folder& folder, const Device& device, const GidExtent& extent, Port& port);

}  // namespace toprun::fabric
