#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "machine/fabric/sysfs.h"

namespace toprun::fabric {

// Network devices as the kernel describes them below /sys/class/net (Linux:
// Documentation/ABI/testing/sysfs-class-net) and in /proc/net.

enum class InterfaceKind : std::uint8_t {
  physical,  // hardware, or what a virtual machine sees as such
  bond,
  vlan,
  child,   // macvlan or ipvlan: an address of its own on another interface
  veth,    // one end of a pair; in a container the way out
  bridge,  // docker0, cni0, virbr0
  tunnel,  // tun, tap, vxlan, ipip …
  loopback,
  other,
};
std::string_view name_of(InterfaceKind kind);  // "VLAN"

struct Leg {
  std::string interface;
  bool is_up = false;
};

struct Interface {
  std::string name;
  InterfaceKind kind = InterfaceKind::other;
  bool is_up = false;
  int mtu = 0;                     // 0: unknown
  std::int64_t speed_mbps = 0;     // 0: unknown, as of most virtual ones
  std::string master;              // the bond or bridge that it belongs to
  std::vector<std::string> below;  // of a VLAN, bond or child: what it stands on
  int vlan = 0;                    // its tag; 0: none
  std::vector<Leg> legs;           // of a bond
  bool has_default_route = false;
};

inline constexpr std::size_t max_interfaces = 1024;

// In natural order of their names.
std::vector<Interface> read_interfaces(const Sysfs& sysfs);

// The same without MTU and speed, legs and exact kind, at half of the time: only VLANs, physical
// interfaces and loopback are known as such. The kernel asks the adapter for a speed, under the
// lock that all of the network shares.
std::vector<Interface> read_interfaces_briefly(const Sysfs& sysfs);

// 0: unknown.
std::int64_t read_speed_mbps(const Sysfs& sysfs, const std::string& interface);

const Interface* find(std::span<const Interface> interfaces, std::string_view name);

// The interface of the default route with the lowest metric: IPv4's (/proc/net/route), else IPv6's
// (/proc/net/ipv6_route). nullopt: there is none.
std::optional<std::string> default_interface_v4(std::string_view route);
std::optional<std::string> default_interface_v6(std::string_view ipv6_route);

}  // namespace toprun::fabric
