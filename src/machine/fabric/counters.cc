#include "machine/fabric/counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "machine/fabric/devices.h"

namespace toprun::fabric {
namespace {

constexpr std::uint64_t bytes_per_unit = 4;  // port_xmit_data counts words of four bytes
// Paths below a port's folder. Counters that only show congestion are left out.
constexpr std::array<const char*, 9> error_counters = {"counters/symbol_error",
                                                       "counters/link_error_recovery",
                                                       "counters/link_downed",
                                                       "counters/port_rcv_errors",
                                                       "counters/port_xmit_discards",
                                                       "counters/local_link_integrity_errors",
                                                       "hw_counters/local_ack_timeout_err",
                                                       "hw_counters/packet_seq_err",
                                                       "hw_counters/rx_icrc_encapsulated"};

std::uint64_t count_in(const Folder& port, const std::string& name) {
  const auto text = port.text(name);
  const auto value = text ? parse_count(*text) : std::nullopt;
  return value.value_or(0);
}

struct PortPath {
  std::string device;
  std::string number;
};

std::vector<PortPath> ports(const Sysfs& sysfs) {
  std::vector<PortPath> all;
  for (const std::string& device : sysfs.names("sys/class/infiniband")) {
    for (std::string& number : sysfs.names("sys/class/infiniband/" + device + "/ports")) {
      if (all.size() == max_devices * max_ports) return all;
      all.push_back({device, std::move(number)});
    }
  }
  return all;
}

Folder folder_of(const Sysfs& sysfs, const PortPath& port) {
  return sysfs.folder("sys/class/infiniband/" + port.device + "/ports/" + port.number);
}

Traffic traffic_of(const Folder& port) {
  return {bytes_per_unit * count_in(port, "counters/port_xmit_data"),
          bytes_per_unit * count_in(port, "counters/port_rcv_data")};
}

PortCounters read_port(const Sysfs& sysfs, const PortPath& one) {
  const Folder port = folder_of(sysfs, one);
  const Traffic traffic = traffic_of(port);
  PortCounters counters{
      one.device + ":" + one.number, traffic.sent_bytes, traffic.received_bytes, {}};
  for (const std::string path : error_counters) {
    const auto text = port.text(path);
    const auto value = text ? parse_count(*text) : std::nullopt;
    if (value) counters.errors[path.substr(path.find('/') + 1)] = *value;
  }
  return counters;
}

}  // namespace

std::vector<PortCounters> read_counters(const Sysfs& sysfs) {
  std::vector<PortCounters> counters;
  for (const PortPath& port : ports(sysfs)) counters.push_back(read_port(sysfs, port));
  return counters;
}

Traffic read_traffic(const Sysfs& sysfs) {
  constexpr const char* interfaces = "sys/class/net";
  const std::vector<std::string> names = sysfs.names(interfaces);
  const auto is_hardware = [&](const std::string& name) {
    return sysfs.exists(fmt::format("{}/{}/device", interfaces, name));
  };
  const bool some_are_hardware = std::ranges::any_of(names, is_hardware);
  Traffic all;
  const auto add = [&](const Traffic& one) {
    all.sent_bytes += one.sent_bytes;
    all.received_bytes += one.received_bytes;
  };
  for (const std::string& name : names) {
    if (some_are_hardware ? !is_hardware(name) : name == "lo") continue;
    const Folder folder = sysfs.folder(fmt::format("{}/{}/statistics", interfaces, name));
    add({count_in(folder, "tx_bytes"), count_in(folder, "rx_bytes")});
  }
  for (const PortPath& port : ports(sysfs)) add(traffic_of(folder_of(sysfs, port)));
  return all;
}

std::vector<PortCounters> growth(std::span<const PortCounters> before,
                                 std::span<const PortCounters> after) {
  const auto grown = [](std::uint64_t from, std::uint64_t to) { return to < from ? 0 : to - from; };
  std::vector<PortCounters> all;
  for (const PortCounters& now : after) {
    const auto then = std::ranges::find(before, now.name, &PortCounters::name);
    if (then == before.end()) continue;
    PortCounters change{now.name,
                        grown(then->sent_bytes, now.sent_bytes),
                        grown(then->received_bytes, now.received_bytes),
                        {}};
    for (const auto& [name, value] : now.errors) {
      const auto earlier = then->errors.find(name);
      if (earlier != then->errors.end()) change.errors[name] = grown(earlier->second, value);
    }
    all.push_back(std::move(change));
  }
  return all;
}

}  // namespace toprun::fabric
