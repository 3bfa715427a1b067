#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/fabric/gid.h"
#include "machine/fabric/sysfs.h"

namespace toprun::fabric {

// RDMA devices as described by the kernel below /sys/class/infiniband (Linux's
// Documentation/ABI/stable/sysfs-class-infiniband, drivers/infiniband/core/sysfs.c).

enum class LinkLayer : std::uint8_t { unknown, infiniband, ethernet };

// The number before the colon in the file ports/P/state.
enum class PortState : std::uint8_t { unknown, down, init, armed, active, active_defer };
std::string_view name_of(PortState state);  // "active"

struct Port {
  int number = 1;
  LinkLayer link_layer = LinkLayer::unknown;
  PortState state = PortState::unknown;
  double rate_gbps = 0;               // 0: unknown
  std::string speed;                  // "4X NDR", as the kernel writes it
  std::optional<std::int64_t> lid{};  // 0 on an active InfiniBand port: no subnet manager
  std::vector<Gid> gids;              // all entries that are not empty, in order of their indices
  // True: an entry of the GID table has an address, but its type is not readable. NCCL 2.21 to 2.25
  // fail on a port with such a table.
  bool has_hidden_types = false;
};

struct Device {
  std::string name;                     // "mlx5_0"
  std::string pci;                      // "0000:17:00.0"; empty: no PCI function
  std::string vendor;                   // the PCI vendor id, "0x15b3"; empty: unknown
  std::string type;                     // hca_type: "MT4129"
  std::string firmware;                 // fw_ver
  std::optional<int> numa;              // NUMA node
  std::vector<std::string> interfaces;  // network devices of the same PCI function
  std::vector<Port> ports;
};

inline constexpr std::size_t max_devices = 128;
inline constexpr int max_ports = 8;            // per device
inline constexpr std::size_t max_gids = 1024;  // per port

// Reads the devices, in natural order of their names. Devices, ports or GIDs that disappear from
// /sys while they are read are left out.
std::vector<Device> read_devices(const Sysfs& sysfs);

// Like read_devices(), but only with the first GID of each port. This takes a tenth of the time of
// read_devices().
std::vector<Device> read_devices_briefly(const Sysfs& sysfs);

// A port's rate, from a text such as "400 Gb/sec (4X NDR)" or "2.5 Gb/sec (1X SDR)": the number,
// and the words in brackets.
struct Rate {
  double gbps = 0;
  std::string speed;
};
std::optional<Rate> parse_rate(std::string_view text);

}  // namespace toprun::fabric
