#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "machine/fabric/sysfs.h"

namespace toprun::fabric {

// What an RDMA port has counted since its driver was loaded (Linux: sysfs-class-infiniband;
// mlx5 also hw_counters). On Ethernet only RDMA traffic counts.
struct PortCounters {
  std::string name;  // "mlx5_0:1"
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::map<std::string, std::uint64_t> errors;  // by the counter's name; those that can be read
};

std::vector<PortCounters> read_counters(const Sysfs& sysfs);

// What all network and RDMA adapters have carried since they came up: of network devices those that
// are hardware, or where there is none (in a container, say) all but the loopback.
struct Traffic {
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;

  bool operator==(const Traffic&) const = default;
};
Traffic read_traffic(const Sysfs& sysfs);

// How much each port's counters grew. Ports that are not in both are left out, as are counters that
// became smaller: a program reset them.
std::vector<PortCounters> growth(std::span<const PortCounters> before,
                                 std::span<const PortCounters> after);

}  // namespace toprun::fabric
