#include "fabric/interfaces.h"

#include <net/if.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"

namespace toprun::fabric {
namespace {

constexpr std::array<std::string_view, 9> kind_names = {
    "physical", "bond", "VLAN", "macvlan", "veth", "bridge", "tunnel", "loopback", "other"};

std::optional<std::uint64_t> parse_hex(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The value of "DEVTYPE=vlan" in an interface's uevent; empty for hardware, which has none.
std::string device_type(const Sysfs& sysfs, const std::string& folder) {
  const auto text = sysfs.text(folder + "/uevent");
  if (!text) return {};
  for (const std::string_view line : split(*text, '\n')) {
    constexpr std::string_view key = "DEVTYPE=";
    if (line.starts_with(key)) return std::string(line.substr(key.size()));
  }
  return {};
}

// The entries of an interface's folder: one listing costs less than a question for each.
class Entries {
 public:
  explicit Entries(std::vector<std::string> names) : names_(std::move(names)) {}
  bool has(std::string_view name) const { return std::ranges::find(names_, name) != names_.end(); }
  std::vector<std::string> after(std::string_view prefix) const {
    std::vector<std::string> found;
    for (const std::string& name : names_) {
      if (name.starts_with(prefix)) found.push_back(name.substr(prefix.size()));
    }
    return found;
  }

 private:
  std::vector<std::string> names_;
};

InterfaceKind kind_of(const Sysfs& sysfs, const std::string& folder, const Entries& entries,
                      const Interface& interface) {
  if (interface.name == "lo") return InterfaceKind::loopback;
  const std::string type = device_type(sysfs, folder);
  if (type == "vlan") return InterfaceKind::vlan;
  if (type == "bond" || entries.has("bonding")) return InterfaceKind::bond;
  if (type == "bridge" || entries.has("bridge")) return InterfaceKind::bridge;
  if (type == "macvlan" || type == "ipvlan") return InterfaceKind::child;
  if (!type.empty() && type != "wlan" && type != "infiniband") return InterfaceKind::tunnel;
  if (entries.has("tun_flags")) return InterfaceKind::tunnel;
  if (entries.has("device")) return InterfaceKind::physical;
  const auto own = sysfs.number(folder + "/ifindex");
  const auto peer = sysfs.number(folder + "/iflink");
  if (!own || !peer || *own == *peer) return InterfaceKind::other;  // dummy
  // The interface below a macvlan may be in another network namespace, as a veth's peer may be.
  return interface.below.empty() ? InterfaceKind::veth : InterfaceKind::child;
}

// Parses "VID: 100\t REORDER_HDR: 1" in /proc/net/vlan/NAME.
int vlan_of(const Sysfs& sysfs, const std::string& name) {
  const auto text = sysfs.text("proc/net/vlan/" + name);
  if (!text) return 0;
  const auto fields = words(*text);
  const auto key = std::ranges::find(fields, "VID:");
  if (key == fields.end() || key + 1 == fields.end()) return 0;
  return static_cast<int>(parse_int(*(key + 1)).value_or(0));
}

bool is_up(const Sysfs& sysfs, const std::string& folder) {
  const auto flags = parse_hex(sysfs.text(folder + "/flags").value_or("0"));
  const std::string state = sysfs.text(folder + "/operstate").value_or("");
  return flags && (*flags & IFF_UP) != 0 && (state == "up" || state == "unknown");
}

std::vector<Leg> legs_of(const Sysfs& sysfs, const std::string& folder) {
  std::vector<Leg> legs;
  const std::string list = sysfs.text(folder + "/bonding/slaves").value_or("");
  for (const std::string_view leg : words(list)) {
    const std::string state = "sys/class/net/" + std::string(leg) + "/bonding_slave/mii_status";
    legs.push_back({std::string(leg), sysfs.text(state).value_or("up") == "up"});
  }
  return legs;
}

// nullopt: no interface; bonding_masters is a file.
std::optional<Interface> read_interface(const Sysfs& sysfs, const std::string& name) {
  const std::string folder = "sys/class/net/" + name;
  const Entries entries(sysfs.names(folder));
  if (!entries.has("ifindex")) return std::nullopt;
  Interface interface;
  interface.name = name;
  interface.is_up = is_up(sysfs, folder);
  interface.mtu = static_cast<int>(sysfs.number(folder + "/mtu").value_or(0));
  // A virtual interface has -1 here, or the file cannot be read.
  interface.speed_mbps = std::max<std::int64_t>(0, sysfs.number(folder + "/speed").value_or(0));
  if (entries.has("master")) {
    const auto master = sysfs.link(folder + "/master");
    if (!master.empty()) interface.master = master.back();
  }
  interface.below = entries.after("lower_");
  interface.kind = kind_of(sysfs, folder, entries, interface);
  interface.vlan = interface.kind == InterfaceKind::vlan ? vlan_of(sysfs, name) : 0;
  if (interface.kind == InterfaceKind::bond) interface.legs = legs_of(sysfs, folder);
  return interface;
}

}  // namespace

std::string_view name_of(InterfaceKind kind) {
  return kind_names[static_cast<std::size_t>(kind)];
}

std::vector<Interface> read_interfaces(const Sysfs& sysfs) {
  std::vector<Interface> interfaces;
  for (const std::string& name : sysfs.names("sys/class/net")) {
    if (interfaces.size() == max_interfaces) break;
    if (auto interface = read_interface(sysfs, name)) interfaces.push_back(*std::move(interface));
  }
  auto carrier = default_interface_v4(sysfs.text("proc/net/route").value_or(""));
  if (!carrier) carrier = default_interface_v6(sysfs.text("proc/net/ipv6_route").value_or(""));
  for (Interface& interface : interfaces) interface.has_default_route = interface.name == carrier;
  return interfaces;
}

const Interface* find(std::span<const Interface> interfaces, std::string_view name) {
  const auto found = std::ranges::find(interfaces, name, &Interface::name);
  return found == interfaces.end() ? nullptr : &*found;
}

std::optional<std::string> default_interface_v4(std::string_view route) {
  constexpr std::size_t columns = 8;  // Iface Destination Gateway Flags RefCnt Use Metric Mask …
  std::optional<std::string> found;
  std::int64_t least = INT64_MAX;
  for (const std::string_view line : split(route, '\n')) {
    const auto fields = words(line);
    if (fields.size() < columns || fields[1] != "00000000" || fields[7] != "00000000") continue;
    const std::int64_t metric = parse_int(fields[6]).value_or(INT64_MAX - 1);
    if (metric >= least) continue;
    least = metric;
    found = fields[0];
  }
  return found;
}

std::optional<std::string> default_interface_v6(std::string_view ipv6_route) {
  constexpr std::size_t columns = 10;  // dest len source len gateway metric refs uses flags iface
  constexpr std::uint64_t reject = 0x200;  // RTF_REJECT
  std::optional<std::string> found;
  std::uint64_t least = UINT64_MAX;
  for (const std::string_view line : split(ipv6_route, '\n')) {
    const auto fields = words(line);
    if (fields.size() < columns || fields[1] != "00" || fields[9] == "lo") continue;
    if (fields[0].find_first_not_of('0') != std::string_view::npos) continue;
    const auto flags = parse_hex(fields[8]);
    const auto metric = parse_hex(fields[5]);
    if (!flags || !metric || (*flags & reject) != 0 || *metric >= least) continue;
    least = *metric;
    found = fields[9];
  }
  return found;
}

}  // namespace toprun::fabric
