#include "machine/fabric/interfaces.h"

#include <net/if.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text/text.h"

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

constexpr const char* interfaces_folder = "sys/class/net";

enum class Extent : std::uint8_t { all, brief };

// The value of "DEVTYPE=vlan" in an interface's uevent; empty for hardware, which has none.
std::string device_type(const Folder& folder) {
  const auto text = folder.text("uevent");
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
    std::ranges::sort(found, natural_less);
    return found;
  }

 private:
  std::vector<std::string> names_;
};

InterfaceKind kind_of(const Folder& folder, const Entries& entries, const Interface& interface) {
  if (interface.name == "lo") return InterfaceKind::loopback;
  const std::string type = device_type(folder);
  if (type == "vlan") return InterfaceKind::vlan;
  if (type == "bond" || entries.has("bonding")) return InterfaceKind::bond;
  if (type == "bridge" || entries.has("bridge")) return InterfaceKind::bridge;
  if (type == "macvlan" || type == "ipvlan") return InterfaceKind::child;
  if (!type.empty() && type != "wlan" && type != "infiniband") return InterfaceKind::tunnel;
  if (entries.has("tun_flags")) return InterfaceKind::tunnel;
  if (entries.has("device")) return InterfaceKind::physical;
  const auto own = folder.number("ifindex");
  const auto peer = folder.number("iflink");
  if (!own || !peer || *own == *peer) return InterfaceKind::other;  // dummy
  // The interface below a macvlan may be in another network namespace, as a veth's peer may be.
  return interface.below.empty() ? InterfaceKind::veth : InterfaceKind::child;
}

// A VLAN stands on no hardware of its own.
InterfaceKind brief_kind_of(const Folder& folder, const Entries& entries,
                            const Interface& interface) {
  if (interface.name == "lo") return InterfaceKind::loopback;
  if (entries.has("device")) return InterfaceKind::physical;
  return device_type(folder) == "vlan" ? InterfaceKind::vlan : InterfaceKind::other;
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

bool is_up(const Folder& folder) {
  const auto flags = parse_hex(folder.text("flags").value_or("0"));
  if (!flags || (*flags & IFF_UP) == 0) return false;
  const std::string state = folder.text("operstate").value_or("");
  return state == "up" || state == "unknown";
}

std::vector<Leg> legs_of(const Sysfs& sysfs, const Folder& folder) {
  std::vector<Leg> legs;
  const std::string list = folder.text("bonding/slaves").value_or("");
  for (const std::string_view leg : words(list)) {
    const std::string state = "sys/class/net/" + std::string(leg) + "/bonding_slave/mii_status";
    legs.push_back({std::string(leg), sysfs.text(state).value_or("up") == "up"});
  }
  return legs;
}

// A virtual interface has -1 there, or the file cannot be read.
std::int64_t speed_mbps(const Folder& folder) {
  return std::max<std::int64_t>(0, folder.number("speed").value_or(0));
}

// nullopt: no interface; bonding_masters is a file.
std::optional<Interface> read_interface(const Sysfs& sysfs, const Folder& folder,
                                        const std::string& name, Extent extent) {
  const Entries entries(folder.own_names());
  if (!entries.has("ifindex")) return std::nullopt;
  Interface interface;
  interface.name = name;
  interface.is_up = is_up(folder);
  if (entries.has("master")) {
    const auto master = folder.link("master");
    if (!master.empty()) interface.master = master.back();
  }
  interface.below = entries.after("lower_");
  interface.kind = extent == Extent::all ? kind_of(folder, entries, interface)
                                         : brief_kind_of(folder, entries, interface);
  interface.vlan = interface.kind == InterfaceKind::vlan ? vlan_of(sysfs, name) : 0;
  if (extent == Extent::brief) return interface;
  interface.mtu = static_cast<int>(folder.number("mtu").value_or(0));
  interface.speed_mbps = speed_mbps(folder);
  if (interface.kind == InterfaceKind::bond) interface.legs = legs_of(sysfs, folder);
  return interface;
}

std::vector<Interface> read(const Sysfs& sysfs, Extent extent) {
  std::vector<Interface> interfaces;
  const Folder all = sysfs.folder(interfaces_folder);
  for (const std::string& name : all.names(".")) {
    if (interfaces.size() == max_interfaces) break;
    auto interface = read_interface(sysfs, all.folder(name), name, extent);
    if (interface) interfaces.push_back(*std::move(interface));
  }
  auto carrier = default_interface_v4(sysfs.text("proc/net/route").value_or(""));
  if (!carrier) carrier = default_interface_v6(sysfs.text("proc/net/ipv6_route").value_or(""));
  for (Interface& interface : interfaces) interface.has_default_route = interface.name == carrier;
  return interfaces;
}

}  // namespace

std::string_view name_of(InterfaceKind kind) {
  return kind_names[static_cast<std::size_t>(kind)];
}

std::vector<Interface> read_interfaces(const Sysfs& sysfs) {
  return read(sysfs, Extent::all);
}

std::vector<Interface> read_interfaces_briefly(const Sysfs& sysfs) {
  return read(sysfs, Extent::brief);
}

std::int64_t read_speed_mbps(const Sysfs& sysfs, const std::string& interface) {
  return speed_mbps(sysfs.folder(std::string(interfaces_folder) + "/" + interface));
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
