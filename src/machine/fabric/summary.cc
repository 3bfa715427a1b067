#include <fmt/format.h>

#include <map>

#include "base/text/text.h"
#include "machine/fabric/settings.h"

namespace toprun::fabric {
namespace {

// "8 RoCE ports of 400 Gb/s, 1 of 200 Gb/s", fastest first.
std::string chosen_ports(const NodeFabric& node) {
  std::map<double, int, std::greater<>> by_rate;
  for (const PortVerdict& verdict : node.choice.ports) {
    if (verdict.is_chosen()) ++by_rate[node.port_of(verdict).rate_gbps];
  }
  const char* const link = node.choice.layer == LinkLayer::infiniband ? "InfiniBand" : "RoCE";
  std::string text;
  for (const auto& [rate, count] : by_rate) {
    const std::string what =
        text.empty() ? fmt::format(" {} {}", link, count == 1 ? "port" : "ports") : "";
    text += fmt::format("{}{}{} of {:g} Gb/s", text.empty() ? "" : ", ", count, what, rate);
  }
  return text;
}

// The ports of the used link layer that are not active.
std::string inactive_ports(const NodeFabric& node) {
  std::vector<std::string> texts;
  for (const PortVerdict& verdict : node.choice.ports) {
    const Port& port = node.port_of(verdict);
    if (port.state == PortState::active || port.link_layer != node.choice.layer) continue;
    texts.push_back(
        fmt::format("{} is {}", node.devices[verdict.device].name, name_of(port.state)));
  }
  return join(texts, ", ");
}

}  // namespace

std::string summary_of(const NodeFabric& node) {
  if (!node.choice.uses_rdma()) return "no RDMA";
  const std::string inactive = inactive_ports(node);
  return chosen_ports(node) + (inactive.empty() ? "" : fmt::format(" ({})", inactive));
}

}  // namespace toprun::fabric
