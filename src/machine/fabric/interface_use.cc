#include "machine/fabric/interface_use.h"

#include <fmt/format.h>

#include <algorithm>

namespace toprun::fabric {
namespace {

bool carries(const PortVerdict& verdict, const Device& device, const std::string& interface) {
  const auto& gids = device.ports[verdict.port].gids;
  const auto gid = std::ranges::find_if(
      gids, [&](const Gid& one) { return verdict.gid.index && one.index == *verdict.gid.index; });
  if (gid != gids.end() && !gid->interface.empty()) return gid->interface == interface;
  return std::ranges::find(device.interfaces, interface) != device.interfaces.end();
}

// "mlx5_0:1", a chosen RDMA port on this interface; empty: there is none.
std::string port_on(const NodeFabric& node, const std::string& interface) {
  for (const PortVerdict& verdict : node.choice.ports) {
    const Device& device = node.devices[verdict.device];
    if (verdict.is_chosen() && carries(verdict, device, interface)) {
      return fmt::format("{}:{}", device.name, device.ports[verdict.port].number);
    }
  }
  return {};
}

}  // namespace

InterfaceUse use_of(const NodeFabric& node, const Interface& interface) {
  const Route& route = node.route;
  if (interface.name == route.interface) {
    return {true, "to reach the other nodes: " + route.reason};
  }
  if (const std::string port = port_on(node, interface.name); !port.empty()) {
    return {true, "by RDMA port " + port};
  }
  if (interface.kind == InterfaceKind::loopback)
    return {false, "the route leads to this host only"};
  if (!interface.is_up) return {false, "it is down"};
  if (!interface.master.empty()) return {false, "it is a part of " + interface.master};
  if (!route.interface.empty()) {
    return {false, fmt::format("{} is by {}", route.reason, route.interface)};
  }
  return {std::nullopt, "there is no default route; use --to HOST to see the route to a host"};
}

}  // namespace toprun::fabric
