#include "machine/fabric/devices.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <thread>

#include "base/os/pool.h"
#include "base/text/text.h"
#include "machine/fabric/choice.h"
#include "machine/fabric/interfaces.h"
#include "machine/fabric/settings.h"

namespace toprun::fabric {
namespace {

// Which entries of the GID tables are read. A table has 256 entries with three files each, and most
// entries are empty. So a launch reads only the entries that its decisions need.
struct GidExtent {
  enum class Entries : std::uint8_t { all, needed, first };
  Entries entries = Entries::all;
  std::span<const Interface> interfaces{};  // used for Entries::needed
  std::optional<int> named{};               // an entry that is always read
};

// Tried by number before the folder is listed, which takes as long as reading ten entries.
constexpr int usual_entries = 16;

GidType type_of(const std::optional<std::string>& text) {
  if (!text) return GidType::unknown;
  if (*text == "RoCE v2") return GidType::v2;
  return *text == "IB/RoCE v1" ? GidType::v1 : GidType::unknown;
}

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

class Reader {
 public:
  Reader(const Folder& folder, const Device& device, const GidExtent& extent, Port& port)
      : folder_(folder), device_(device), extent_(extent), port_(port) {}

  void read_all() {
    for (const std::string& name : folder_.names("gids")) {
      if (const auto index = index_of(name)) read_entry(*index);
    }
  }

  void read_first() { read_entry(0); }

  void read_needed() {
    if (!is_right_entry_found()) {
      for (Gid& gid : port_.gids) {
        if (!is_ipv4(gid.bytes)) add_attributes(gid);
      }
    } else if (extent_.named) {
      read_named(*extent_.named);
    }
  }

 private:
  static std::optional<int> index_of(const std::string& name) {
    const auto index = parse_int(name);
    const bool is_valid = index && *index >= 0 && *index < static_cast<std::int64_t>(max_gids);
    return is_valid ? std::optional(static_cast<int>(*index)) : std::nullopt;
  }

  std::optional<std::string> text_of_address(int index) const {
    return folder_.text("gids/" + std::to_string(index));
  }

  // Appends the entry without its attributes. Null: it is empty.
  Gid* add_address(int index, const std::optional<std::string>& text) {
    const auto bytes = text ? parse_gid(*text) : std::nullopt;
    if (!bytes || is_zero(*bytes)) return nullptr;
    return &port_.gids.emplace_back(Gid{index, *bytes, GidType::unknown, {}});
  }

  void add_attributes(Gid& gid) {
    const std::string name = std::to_string(gid.index);
    const auto type = folder_.text("gid_attrs/types/" + name);
    if (!type) port_.has_hidden_types = true;
    gid.type = type_of(type);
    // No caller asks which interface carries an entry that can never be used.
    const bool is_usable = gid.type != GidType::v1 || extent_.entries != GidExtent::Entries::needed;
    if (is_usable) gid.interface = folder_.text("gid_attrs/ndevs/" + name).value_or("");
  }

  void read_entry(int index) {
    if (Gid* const gid = add_address(index, text_of_address(index))) add_attributes(*gid);
  }

  bool is_right_entry(int index, const std::optional<std::string>& text) {
    Gid* const gid = add_address(index, text);
    if (gid == nullptr || !is_ipv4(gid->bytes)) return false;
    add_attributes(*gid);
    return is_certain(*gid, device_, extent_.interfaces);
  }

  // Reads up to the right entry, or all.
  bool is_right_entry_found() {
    int next = 0;
    for (; next < usual_entries; ++next) {
      const auto text = text_of_address(next);
      if (!text) break;
      if (is_right_entry(next, text)) return true;
    }
    for (const std::string& name : folder_.names("gids")) {
      const auto index = index_of(name);
      if (index && *index >= next && is_right_entry(*index, text_of_address(*index))) return true;
    }
    return false;
  }

  void read_named(int index) {
    const auto known = std::ranges::find(port_.gids, index, &Gid::index);
    if (known == port_.gids.end()) return read_entry(index);
    if (!is_ipv4(known->bytes)) add_attributes(*known);
  }

  const Folder& folder_;
  const Device& device_;
  const GidExtent& extent_;
  Port& port_;
};

// Reads the port's entries and whether types are hidden, from its folder. Entries::needed stops
// after the best possible entry: an IPv4 address over RoCE v2 on the device's own interface, if the
// interface is up. NCCL's search also prefers this entry to all later entries, with each version of
// NCCL and each range of addresses (NCCL_IB_ADDR_RANGE). Types cannot be hidden after that entry:
// the kernel looks up the whole entry to show its address or its type
// (drivers/infiniband/core/sysfs.c). So a table with one readable type has no address without a
// readable type. If Entries::needed finds the best possible entry, types are read only for IPv4
// addresses, as in NCCL, and for the entry `named`.
void read_gids(const Folder& folder, const Device& device, const GidExtent& extent, Port& port) {
  Reader reader(folder, device, extent, port);
  switch (extent.entries) {
    case GidExtent::Entries::all:
      return reader.read_all();
    case GidExtent::Entries::needed:
      return reader.read_needed();
    case GidExtent::Entries::first:
      return reader.read_first();
  }
}

constexpr std::array<std::string_view, 6> state_names = {"unknown", "down",   "initialising",
                                                         "armed",   "active", "active (deferred)"};

constexpr std::size_t most_threads = 4;
// One thread reads what is needed of so many in half a millisecond.
constexpr std::size_t few_devices = 8;

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

// Neither a decision nor a message of a launch has to do with the entries of other ports.
bool needs_gids(const Device& device, const Port& port, const GidExtent& extent) {
  if (extent.entries != GidExtent::Entries::needed) return true;
  return port.link_layer == LinkLayer::ethernet && port.state == PortState::active &&
         !is_efa(device);
}

Port read_port(const Folder& folder, int number, const Device& device, const GidExtent& extent) {
  Port port;
  port.number = number;
  port.link_layer = layer_of(folder.text("link_layer").value_or(""));
  port.state = state_of(folder.text("state").value_or(""));
  if (auto rate = parse_rate(folder.text("rate").value_or(""))) {
    port.rate_gbps = rate->gbps;
    port.speed = std::move(rate->speed);
  }
  const bool has_lid =
      extent.entries != GidExtent::Entries::needed || port.link_layer != LinkLayer::ethernet;
  if (has_lid) port.lid = lid_of(folder.text("lid"));
  if (needs_gids(device, port, extent)) read_gids(folder, device, extent, port);
  return port;
}

void add_description(const Folder& folder, Device& device) {
  if (const auto function = folder.link("device"); !function.empty()) device.pci = function.back();
  device.type = folder.text("hca_type").value_or("");
  device.firmware = folder.text("fw_ver").value_or("");
  const auto numa = folder.number("device/numa_node");
  if (numa && *numa >= 0) device.numa = static_cast<int>(*numa);
}

Device read_device(const Folder& folder, const std::string& name, const GidExtent& extent) {
  Device device;
  device.name = name;
  device.vendor = folder.text("device/vendor").value_or("");
  if (extent.entries != GidExtent::Entries::needed) add_description(folder, device);
  device.interfaces = folder.names("device/net");
  // The kernel numbers them without gaps.
  for (int number = 1; number <= max_ports; ++number) {
    const Folder port = folder.folder("ports/" + std::to_string(number));
    if (!port) break;
    device.ports.push_back(read_port(port, number, device, extent));
  }
  return device;
}

// Several threads read one device after the other, because a table of 256 GIDs is 768 files.
std::vector<Device> read(const Sysfs& sysfs, const GidExtent& extent) {
  const Folder all = sysfs.folder("sys/class/infiniband");
  std::vector<std::string> names = all.names(".");
  names.resize(std::min(names.size(), max_devices));
  std::vector<Device> devices(names.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < names.size(); i = next++) {
      devices[i] = read_device(all.folder(names[i]), names[i], extent);
    }
  };
  const std::size_t threads = std::min<std::size_t>(
      {names.size(), most_threads, std::max(1u, std::thread::hardware_concurrency())});
  std::vector<std::thread> helpers;
  const bool is_long = (extent.entries == GidExtent::Entries::all && names.size() > 1) ||
                       (extent.entries == GidExtent::Entries::needed && names.size() > few_devices);
  for (std::size_t i = 1; is_long && i < threads; ++i) {
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
  return read(sysfs, {});
}

std::vector<Device> read_devices_as_needed(const Sysfs& sysfs,
                                           std::span<const Interface> interfaces,
                                           std::optional<int> named_gid) {
  return read(sysfs, {GidExtent::Entries::needed, interfaces, named_gid});
}

std::vector<Device> read_devices_briefly(const Sysfs& sysfs) {
  return read(sysfs, {.entries = GidExtent::Entries::first});
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
