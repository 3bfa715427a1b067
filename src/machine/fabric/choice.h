#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "machine/fabric/devices.h"
#include "machine/fabric/interfaces.h"

namespace toprun::fabric {

// Which RDMA ports a job's collectives should use, and on Ethernet which GID of each. Pure.

struct GidVerdict {
  // The entry to use; nullopt: none suits, or the port is InfiniBand, where NCCL needs none.
  std::optional<int> index;
  // Of each entry of Port::gids, in their order, why it is not that one; empty for the one that is.
  std::vector<std::string> why_not;
  int nccl_index = 0;      // that NCCL takes by itself, from 2.21 on
  std::string nccl_wrong;  // why that one would be wrong; empty: it would be right
};

struct PortVerdict {
  std::size_t device = 0;  // in the list of devices
  std::size_t port = 0;    // in Device::ports
  std::string why_not;     // empty: use it
  GidVerdict gid;

  bool is_chosen() const { return why_not.empty(); }
};

struct Choice {
  std::vector<PortVerdict> ports;        // of all devices, in their order
  LinkLayer layer = LinkLayer::unknown;  // of the chosen ones; unknown: none is chosen

  bool uses_rdma() const { return layer != LinkLayer::unknown; }
};

Choice choose_ports(std::span<const Device> devices, std::span<const Interface> interfaces);

// The rates of the chosen ports together, in gigabits per second; 0: none is chosen.
double chosen_gbps(std::span<const Device> devices, const Choice& choice);

// Amazon's EFA is an RDMA device to the kernel; NCCL reaches it through aws-ofi-nccl alone.
bool is_efa(const Device& device);

}  // namespace toprun::fabric
