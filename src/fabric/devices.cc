#include "fabric/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "base/quiet_thread.h"
#include "base/text.h"
#include "fabric/as_needed.h"

namespace toprun::fabric {
namespace {

constexpr std::array<std::string_view, 6> state_names = {"unknown", "down",   "initialising",
                                                         "armed",   "active", "active (deferred)"};

constexpr std::size_t most_threads = 4;
// One thread reads what is needed of so many in half a millisecond.
constexpr std::size_t few_devices = 8;

enum class Gids : std::uint8_t { all, needed, first };

// Parses "4: ACTIVE".
PortState state_of(std::string_view text) {
  const auto number = parse_int(text.substr(0, text.find(':')));
  const bool known = number && *number > 0 && *number < std::ssize(state_names);
  return known ? static_cast<PortState>(*number) : PortState::unknown;
}

LinkLayer layer_of(std::string_view text) {
  if (text == "InfiniBand") return LinkLayer::infiniband;
  return text == "Ethernet" ? LinkLayer::ethernet : LinkLayer::unknown;
}

GidType type_of(const std::optional<std::string>& text) {
  if (!text) return GidType::unknown;
  if (*text == "RoCE v2") return GidType::v2;
  return *text == "IB/RoCE v1" ? GidType::v1 : GidType::unknown;
}

// Parses "0x0017" or "23".
std::optional<std::int64_t> lid_of(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  if (!text->starts_with("0x")) return parse_int(*text);
  std::int64_t value = 0;
  for (const char c : text->substr(2)) {
    const auto digit = std::string_view("0123456789abcdef").find(c);
    if (digit == std::string_view::npos || value > UINT16_MAX) return std::nullopt;
    value = value * 16 + static_cast<std::int64_t>(digit);
  }
  return value;
}

// A port's table of GIDs.
class GidTable {
 public:
  GidTable(const Sysfs& sysfs, const std::string& port)
      : gids_(sysfs.folder(port + "/gids")),
        types_(sysfs.folder(port + "/gid_attrs/types")),
        interfaces_(sysfs.folder(port + "/gid_attrs/ndevs")) {}

  // Adds the entry to the port; false: there is none.
  bool add(const std::string& name, Port& port) const {
    const auto index = parse_int(name);
    const auto text = gids_.text(name);
    const auto bytes = text ? parse_gid(*text) : std::nullopt;
    if (!index || *index < 0 || *index >= static_cast<std::int64_t>(max_gids)) return false;
    if (!bytes || is_zero(*bytes)) return false;
    const auto type = types_.text(name);
    if (!type) port.has_hidden_types = true;
    port.gids.push_back(
        {static_cast<int>(*index), *bytes, type_of(type), interfaces_.text(name).value_or("")});
    return true;
  }

 private:
  Folder gids_, types_, interfaces_;
};

// How much of the tables is read; `interfaces` for Gids::needed.
struct Extent {
  Gids gids = Gids::all;
  std::span<const Interface> interfaces = {};
};

// Whether no later entry of the table can be a better one, nor one that NCCL prefers.
bool is_certain(const Gid& gid, const Device& device, std::span<const Interface> interfaces) {
  if (gid.type != GidType::v2 || scope_of(gid.bytes) != GidScope::ipv4) return false;
  const auto is_own = [&](const std::string& name) {
    return std::ranges::find(device.interfaces, name) != device.interfaces.end();
  };
  const Interface* const carrier = find(interfaces, gid.interface);
  if (carrier == nullptr || !carrier->is_up || carrier->kind == InterfaceKind::vlan) return false;
  return is_own(carrier->name) || std::ranges::any_of(carrier->below, is_own);
}

// Whether the right entry is certain after the first ones, which are then in the port.
bool is_among_the_first(const GidTable& table, const Device& device, const Extent& extent,
                        Port& port) {
  constexpr int usual_entries = 16;
  for (int i = 0; i < usual_entries; ++i) {
    if (!table.add(std::to_string(i), port)) continue;
    if (is_certain(port.gids.back(), device, extent.interfaces)) return true;
  }
  port.gids.clear();
  port.has_hidden_types = false;
  return false;
}

void read_gids(const Sysfs& sysfs, const std::string& folder, const Device& device,
               const Extent& extent, Port& port) {
  const GidTable table(sysfs, folder);
  if (extent.gids == Gids::first) {
    table.add("0", port);
    return;
  }
  const bool is_short = extent.gids == Gids::needed && port.link_layer == LinkLayer::ethernet;
  if (is_short && is_among_the_first(table, device, extent, port)) return;
  for (const std::string& name : sysfs.names(folder + "/gids")) table.add(name, port);
}

Port read_port(const Sysfs& sysfs, const std::string& folder, int number, const Device& device,
               const Extent& extent) {
  Port port;
  port.number = number;
  port.link_layer = layer_of(sysfs.text(folder + "/link_layer").value_or(""));
  port.state = state_of(sysfs.text(folder + "/state").value_or(""));
  if (auto rate = parse_rate(sysfs.text(folder + "/rate").value_or(""))) {
    port.rate_gbps = rate->gbps;
    port.speed = std::move(rate->speed);
  }
  port.lid = lid_of(sysfs.text(folder + "/lid"));
  read_gids(sysfs, folder, device, extent, port);
  return port;
}

Device read_device(const Sysfs& sysfs, const std::string& name, const Extent& extent) {
  const std::string folder = "sys/class/infiniband/" + name;
  Device device;
  device.name = name;
  if (const auto function = sysfs.link(folder + "/device"); !function.empty()) {
    device.pci = function.back();
  }
  device.vendor = sysfs.text(folder + "/device/vendor").value_or("");
  device.type = sysfs.text(folder + "/hca_type").value_or("");
  device.firmware = sysfs.text(folder + "/fw_ver").value_or("");
  const auto numa = sysfs.number(folder + "/device/numa_node");
  if (numa && *numa >= 0) device.numa = static_cast<int>(*numa);
  device.interfaces = sysfs.names(folder + "/device/net");
  for (const std::string& port : sysfs.names(folder + "/ports")) {
    const auto number = parse_int(port);
    if (!number || *number < 1 || device.ports.size() == max_ports) continue;
    device.ports.push_back(
        read_port(sysfs, folder + "/ports/" + port, static_cast<int>(*number), device, extent));
  }
  return device;
}

// Several threads read one device after the other, because a table of 256 GIDs is 768 files.
std::vector<Device> read(const Sysfs& sysfs, const Extent& extent) {
  std::vector<std::string> names = sysfs.names("sys/class/infiniband");
  names.resize(std::min(names.size(), max_devices));
  std::vector<Device> devices(names.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < names.size(); i = next++) {
      devices[i] = read_device(sysfs, names[i], extent);
    }
  };
  std::vector<std::thread> helpers;
  const bool is_long = (extent.gids == Gids::all && names.size() > 1) ||
                       (extent.gids == Gids::needed && names.size() > few_devices);
  for (std::size_t i = 1; is_long && i < std::min(names.size(), most_threads); ++i) {
    if (auto thread = quiet_thread(work)) helpers.push_back(*std::move(thread));
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  return devices;
}

}  // namespace

std::string_view name_of(PortState state) {
  return state_names[static_cast<std::size_t>(state)];
}

std::vector<Device> read_devices(const Sysfs& sysfs) {
  return read(sysfs, {Gids::all});
}

std::vector<Device> read_devices_as_needed(const Sysfs& sysfs,
                                           std::span<const Interface> interfaces) {
  return read(sysfs, {Gids::needed, interfaces});
}

std::vector<Device> read_devices_briefly(const Sysfs& sysfs) {
  return read(sysfs, {Gids::first});
}

std::optional<Rate> parse_rate(std::string_view text) {
  const auto parts = words(text);
  if (parts.size() < 2 || parts[1] != "Gb/sec") return std::nullopt;
  const auto gbps = parse_double(parts[0]);
  if (!gbps || *gbps < 0) return std::nullopt;
  Rate rate{*gbps, {}};
  const auto open = text.find('(');
  const auto close = text.rfind(')');
  if (open != std::string_view::npos && close != std::string_view::npos && open < close) {
    rate.speed = text.substr(open + 1, close - open - 1);
  }
  return rate;
}

}  // namespace toprun::fabric
