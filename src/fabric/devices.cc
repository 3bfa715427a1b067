#include "fabric/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "base/quiet_thread.h"
#include "base/text.h"

namespace toprun::fabric {
namespace {

constexpr std::array<std::string_view, 6> state_names = {"unknown", "down",   "initialising",
                                                         "armed",   "active", "active (deferred)"};

constexpr std::size_t most_threads = 4;

enum class Gids : std::uint8_t { all, first };

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

void read_gids(const Sysfs& sysfs, const std::string& folder, Gids which, Port& port) {
  const auto indices =
      which == Gids::first ? std::vector<std::string>{"0"} : sysfs.names(folder + "/gids");
  const Folder gids = sysfs.folder(folder + "/gids");
  const Folder types = sysfs.folder(folder + "/gid_attrs/types");
  const Folder interfaces = sysfs.folder(folder + "/gid_attrs/ndevs");
  for (const std::string& name : indices) {
    const auto index = parse_int(name);
    const auto text = gids.text(name);
    const auto bytes = text ? parse_gid(*text) : std::nullopt;
    if (!index || *index < 0 || *index >= static_cast<std::int64_t>(max_gids)) continue;
    if (!bytes || is_zero(*bytes)) continue;
    const auto type = types.text(name);
    if (!type) port.has_hidden_types = true;
    port.gids.push_back(
        {static_cast<int>(*index), *bytes, type_of(type), interfaces.text(name).value_or("")});
  }
}

Port read_port(const Sysfs& sysfs, const std::string& folder, int number, Gids which) {
  Port port;
  port.number = number;
  port.link_layer = layer_of(sysfs.text(folder + "/link_layer").value_or(""));
  port.state = state_of(sysfs.text(folder + "/state").value_or(""));
  if (auto rate = parse_rate(sysfs.text(folder + "/rate").value_or(""))) {
    port.rate_gbps = rate->gbps;
    port.speed = std::move(rate->speed);
  }
  port.lid = lid_of(sysfs.text(folder + "/lid"));
  read_gids(sysfs, folder, which, port);
  return port;
}

Device read_device(const Sysfs& sysfs, const std::string& name, Gids which) {
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
        read_port(sysfs, folder + "/ports/" + port, static_cast<int>(*number), which));
  }
  return device;
}

// Several threads read one device after the other, because a table of 256 GIDs is 768 files.
std::vector<Device> read(const Sysfs& sysfs, Gids which) {
  std::vector<std::string> names = sysfs.names("sys/class/infiniband");
  names.resize(std::min(names.size(), max_devices));
  std::vector<Device> devices(names.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < names.size(); i = next++) {
      devices[i] = read_device(sysfs, names[i], which);
    }
  };
  std::vector<std::thread> helpers;
  const bool is_long = which == Gids::all && names.size() > 1;
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
  return read(sysfs, Gids::all);
}

std::vector<Device> read_devices_briefly(const Sysfs& sysfs) {
  return read(sysfs, Gids::first);
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
