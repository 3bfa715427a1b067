#include "cli/benchmark/rate.h"

#include <algorithm>

#include "base/net/address.h"
#include "cli/benchmark/request.h"
#include "machine/fabric/choice.h"

namespace toprun::benchmark {
namespace {

using fabric::Interface;
using fabric::InterfaceKind;

bool is_hardware(const Interface& interface) {
  return interface.kind == InterfaceKind::physical || interface.kind == InterfaceKind::bond;
}

// A VLAN or child stands on others, down to hardware.
const Interface* hardware_below(std::span<const Interface> all, const std::string& name) {
  constexpr int most_layers = 4;
  const Interface* found = fabric::find(all, name);
  for (int i = 0; i < most_layers && found != nullptr && !is_hardware(*found); ++i) {
    found = found->below.empty() ? nullptr : fabric::find(all, found->below.front());
  }
  return found != nullptr && is_hardware(*found) ? found : nullptr;
}

std::optional<double> known(double gbps) {
  return gbps > 0 ? std::optional(gbps) : std::nullopt;
}

}  // namespace

std::optional<double> line_gbps(const std::vector<std::string>& backends,
                                std::span<const fabric::Device> devices,
                                std::span<const Interface> interfaces,
                                const std::string& interface) {
  if (std::ranges::all_of(backends, is_on_gpus)) {
    return known(fabric::chosen_gbps(devices, fabric::choose_ports(devices, interfaces)));
  }
  if (std::ranges::any_of(backends, is_on_gpus)) return std::nullopt;  // two networks
  const Interface* const below = hardware_below(interfaces, interface);
  constexpr double mbps_of_gbps = 1000;
  return below != nullptr ? known(static_cast<double>(below->speed_mbps) / mbps_of_gbps)
                          : std::nullopt;
}

OwnLink own_link(const std::vector<std::string>& backends, const std::string& address) {
  const auto local = hosts::local_addresses();
  if (!local) return {};
  const auto own = std::ranges::find(
      *local, address, [](const hosts::LocalAddress& one) { return one.address.text(); });
  const std::string name = own == local->end() ? std::string() : own->interface;
  const fabric::Sysfs sysfs;
  const auto interfaces = fabric::read_interfaces(sysfs);
  const Interface* const interface = fabric::find(interfaces, name);
  return {line_gbps(backends, fabric::read_devices(sysfs), interfaces, name),
          interface == nullptr ? 0 : interface->mtu};
}

}  // namespace toprun::benchmark
