#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "machine/fabric/sysfs.h"

namespace toprun::fabric {

// The counters of an RDMA port since its driver was loaded (Linux: sysfs-class-infiniband; mlx5
// also hw_counters). On Ethernet, the counters count only RDMA traffic.
struct PortCounters {
  std::string name;  // "mlx5_0:1"
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::map<std::string, std::uint64_t> errors;  // the values of the readable error counters, by
                                                // name
};

std::vector<PortCounters> read_counters(const Sysfs& sysfs);

// The traffic of all network and RDMA adapters since the adapters came up. Virtual network devices
// do not count. But if all devices are virtual (for example in a container), all except the
// loopback device count.
struct Traffic {
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;

  bool operator==(const Traffic&) const = default;
};
Traffic read_traffic(const Sysfs& sysfs);

// Returns the increase of each port's counters. Ports that are missing in `before` or `after` are
// left out, as are counters that became smaller because a program has reset them.
std::vector<PortCounters> growth(std::span<const PortCounters> before,
                                 std::span<const PortCounters> after);

}  // namespace toprun::fabric
