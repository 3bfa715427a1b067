#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "machine/fabric/devices.h"
#include "machine/fabric/interfaces.h"

namespace toprun::fabric {

// Chooses the RDMA ports that a job's collectives should use, and on Ethernet a GID for each port.
// Pure.

struct GidVerdict {
  // The index of the entry to use in the GID table. nullopt: no entry is suitable, or the port uses
  // InfiniBand, where NCCL needs no GID.
  std::optional<int> index;
  // For each entry of Port::gids, in the same order: why the entry is not used; empty for the entry
  // that is used.
  std::vector<std::string> why_not;
  int nccl_index = 0;      // the entry that NCCL chooses itself, from 2.21 on
  std::string nccl_wrong;  // why NCCL's own choice would be wrong; empty: it would be right
};

struct PortVerdict {
  std::size_t device = 0;  // index in the list of devices
  std::size_t port = 0;    // index in Device::ports
  std::string why_not;     // empty: the port is used
  GidVerdict gid;

  bool is_chosen() const { return why_not.empty(); }
};

struct Choice {
  std::vector<PortVerdict> ports;        // all ports of all devices, in their order
  LinkLayer layer = LinkLayer::unknown;  // of the chosen ports; unknown: no port is chosen

  bool uses_rdma() const { return layer != LinkLayer::unknown; }
};

Choice choose_ports(std::span<const Device> devices, std::span<const Interface> interfaces);

// Returns the total rate of the chosen ports in gigabits per second; 0: no port is chosen.
double chosen_gbps(std::span<const Device> devices, const Choice& choice);

// Whether this is Amazon's EFA. The kernel lists EFA as an RDMA device, but NCCL can use it only
// through aws-ofi-nccl.
bool is_efa(const Device& device);

}  // namespace toprun::fabric
