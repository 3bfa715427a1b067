#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "machine/fabric/devices.h"
#include "machine/fabric/interfaces.h"

namespace toprun::benchmark {

// What a host's network carries in each direction, in Gbps, as its kernel tells: for NCCL and RCCL
// the ports that a job's collectives use (machine/fabric/choice.h), for sockets the hardware below
// `interface`, on which they are. Unset: not known, as of virtual interfaces.
std::optional<double> line_gbps(const std::vector<std::string>& backends,
                                std::span<const fabric::Device> devices,
                                std::span<const fabric::Interface> interfaces,
                                const std::string& interface);

struct OwnLink {
  std::optional<double> line_gbps;
  int mtu = 0;  // of the interface that sockets use; 0: not known
};

// The same of this host; `address`: where the other ranks reach this one.
OwnLink own_link(const std::vector<std::string>& backends, const std::string& address);

}  // namespace toprun::benchmark
