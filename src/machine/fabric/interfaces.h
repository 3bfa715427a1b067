#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "machine/fabric/sysfs.h"

namespace toprun::fabric {

// Network devices as described by the kernel below /sys/class/net (Linux's
// Documentation/ABI/testing/sysfs-class-net) and in /proc/net.

enum class InterfaceKind : std::uint8_t {
  physical,  // hardware, or a virtual machine's equivalent
  bond,
  vlan,
  child,   // macvlan or ipvlan: an additional address on another interface
  veth,    // one end of a pair; in a container, its connection to the outside
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
  std::int64_t speed_mbps = 0;     // 0: unknown, as for most virtual interfaces
  std::string master;              // the bond or bridge that the interface belongs to
  std::vector<std::string> below;  // for a VLAN, bond or child: the interfaces that it uses
  int vlan = 0;                    // its tag; 0: not a VLAN
  std::vector<Leg> legs;           // the interfaces in a bond
  bool has_default_route = false;
};

inline constexpr std::size_t max_interfaces = 1024;

// Reads all devices, in natural order of their names.
std::vector<Interface> read_interfaces(const Sysfs& sysfs);

// Like read_interfaces(), but in half the time. MTU, speed, the legs of bonds and the exact kind
// are not read. The kind of a device is right only for VLANs, physical interfaces and loopback.
// Reading a speed is slow: the kernel holds the lock of the whole network stack while it requests
// the speed from the adapter.
std::vector<Interface> read_interfaces_briefly(const Sysfs& sysfs);

// Reads the interface's speed; 0: unknown.
std::int64_t read_speed_mbps(const Sysfs& sysfs, const std::string& interface);

const Interface* find(std::span<const Interface> interfaces, std::string_view name);

// Returns the interface of the default route with the lowest metric, for IPv4 (/proc/net/route) and
// IPv6 (/proc/net/ipv6_route). nullopt: there is no default route.
std::optional<std::string> default_interface_v4(std::string_view route);
std::optional<std::string> default_interface_v6(std::string_view ipv6_route);

}  // namespace toprun::fabric
