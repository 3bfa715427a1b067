#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "machine/fabric/devices.h"
#include "machine/fabric/interfaces.h"

namespace toprun::benchmark {

// Returns the line rate of a host's network in each direction, in Gbit/s. The host's kernel reports
// this rate. For NCCL and RCCL, the result is the rate of the ports that a job's collectives use
// (machine/fabric/choice.h). For sockets, the result is the rate of the hardware of `interface`,
// which is the interface that the sockets use. Unset: the rate is unknown, for example for virtual
// interfaces.
std::optional<double> line_gbps(const std::vector<std::string>& backends,
                                std::span<const fabric::Device> devices,
                                std::span<const fabric::Interface> interfaces,
                                const std::string& interface);

struct OwnLink {
  std::optional<double> line_gbps;
  int mtu = 0;  // MTU of the interface that sockets use; 0: unknown
};

// Returns the line rate and the MTU of this host's network. `address`: this rank's address, to
// which other ranks connect.
OwnLink own_link(const std::vector<std::string>& backends, const std::string& address);

}  // namespace toprun::benchmark
