#include "observe/report/fabric_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/text/secrets.h"
#include "base/text/text.h"
#include "machine/fabric/settings.h"
#include "observe/report/columns.h"

namespace toprun::report {
namespace {

using fabric::Device;
using fabric::Gid;
using fabric::Interface;
using fabric::LinkLayer;
using fabric::NodeFabric;
using fabric::PciPlace;
using fabric::Port;
using fabric::PortVerdict;
using fabric::Setting;
using nlohmann::ordered_json;

std::string_view link_of(const Device& device, const Port& port) {
  if (fabric::is_efa(device)) return "EFA";
  switch (port.link_layer) {
    case LinkLayer::infiniband:
      return "InfiniBand";
    case LinkLayer::ethernet:
      return "RoCE";
    case LinkLayer::unknown:
      break;
  }
  return "unknown";
}

std::string rate_of(const Port& port) {
  if (port.rate_gbps == 0) return "?";
  const std::string gbps = fmt::format("{:g} Gb/s", port.rate_gbps);
  return port.speed.empty() ? gbps : gbps + " " + printable(port.speed);
}

std::string type_of(const Port& port, const Gid& gid) {
  if (gid.type == fabric::GidType::v2) return "RoCE v2";
  if (gid.type == fabric::GidType::unknown) return "type unknown";
  return port.link_layer == LinkLayer::infiniband ? "InfiniBand" : "RoCE v1";
}

// "GPU 0, 1 (PIX)": the nearest ones.
std::string near_gpus(const std::optional<PciPlace>& place, std::span<const PciPlace> gpus) {
  if (!place || gpus.empty()) return {};
  std::optional<fabric::PciDistance> least;
  std::vector<std::string> nearest;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const auto distance = fabric::distance(*place, gpus[i]);
    if (least && distance > *least) continue;
    if (!least || distance < *least) nearest.clear();
    least = distance;
    nearest.push_back(fmt::to_string(i));
  }
  return fmt::format("{} ({})", join(nearest, ","), fabric::name_of(*least));
}

std::string use_of(const Port& port, const PortVerdict& verdict) {
  if (!verdict.is_chosen()) return "no: " + printable(verdict.why_not);
  if (!verdict.gid.index) return "yes";
  const auto gid = std::ranges::find(port.gids, *verdict.gid.index, &Gid::index);
  return fmt::format("yes: GID {}, {}, {}", gid->index, fabric::address_of(gid->bytes),
                     type_of(port, *gid));
}

// "0-2,5" of ascending numbers.
std::string ranges_of(const std::vector<int>& numbers) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    parts.push_back(last == i ? fmt::to_string(numbers[i])
                              : fmt::format("{}-{}", numbers[i], numbers[last]));
    i = last + 1;
  }
  return join(parts, ",");
}

// "0-1,4: RoCE v1; 3: link-local": the entries that are not used, by reason.
std::string other_gids(const Port& port, const PortVerdict& verdict) {
  std::vector<std::string> reasons;
  std::map<std::string, std::vector<int>> entries;
  for (std::size_t i = 0; i < port.gids.size(); ++i) {
    const std::string& why = verdict.gid.why_not[i];
    if (why.empty()) continue;
    if (!entries.contains(why)) reasons.push_back(why);
    entries[why].push_back(port.gids[i].index);
  }
  std::vector<std::string> parts;
  for (const std::string& why : reasons) {
    parts.push_back(fmt::format("{}: {}", ranges_of(entries[why]), printable(why)));
  }
  return join(parts, "; ");
}

std::string ports_text(const NodeFabric& node, std::span<const PciPlace> gpus,
                       std::span<const std::optional<PciPlace>> places) {
  std::vector<std::vector<std::string>> rows = {
      {"RDMA PORT", "LINK", "STATE", "RATE", "INTERFACE", "NUMA", "NEAR GPU", "USED"}};
  for (const PortVerdict& verdict : node.choice.ports) {
    const Device& device = node.devices[verdict.device];
    const Port& port = device.ports[verdict.port];
    rows.push_back({printable(fmt::format("{}:{}", device.name, port.number)),
                    std::string(link_of(device, port)), std::string(fabric::name_of(port.state)),
                    rate_of(port), printable(join(device.interfaces, ",")),
                    device.numa ? fmt::to_string(*device.numa) : "",
                    near_gpus(places[verdict.device], gpus), use_of(port, verdict)});
  }
  return columns_text(without_empty_columns(std::move(rows)), {});
}

// "mlx5_0:1,mlx5_1:1" of ports whose entries are unused for the same reasons.
std::string gids_text(const NodeFabric& node) {
  std::vector<std::string> reasons;
  std::map<std::string, std::vector<std::string>> ports;
  for (const PortVerdict& verdict : node.choice.ports) {
    const Device& device = node.devices[verdict.device];
    const Port& port = device.ports[verdict.port];
    if (verdict.gid.why_not.empty()) continue;
    const std::string others = other_gids(port, verdict);
    if (others.empty()) continue;
    if (!ports.contains(others)) reasons.push_back(others);
    ports[others].push_back(printable(fmt::format("{}:{}", device.name, port.number)));
  }
  std::string text;
  for (const std::string& others : reasons) {
    text += fmt::format("  of {}: {}\n", join(ports[others], ","), others);
  }
  return text.empty() ? text : "\nGIDs that are not used\n" + text;
}

std::string legs_of(const Interface& interface) {
  std::vector<std::string> legs;
  for (const auto& leg : interface.legs) {
    legs.push_back(leg.is_up ? leg.interface : leg.interface + " (down)");
  }
  return join(legs, ",");
}

std::string use_text(const fabric::InterfaceUse& use) {
  const std::string why = printable(use.why);
  if (!use.is_used) return "cannot tell: " + why;
  return *use.is_used ? why : "no: " + why;
}

std::string interfaces_text(const NodeFabric& node) {
  std::vector<std::vector<std::string>> rows = {
      {"INTERFACE", "KIND", "STATE", "MTU", "SPEED", "ON", "USED"}};
  for (const Interface& interface : node.interfaces) {
    const std::string on = interface.legs.empty() ? join(interface.below, ",") : legs_of(interface);
    const std::string kind = interface.vlan == 0 ? std::string(fabric::name_of(interface.kind))
                                                 : fmt::format("VLAN {}", interface.vlan);
    rows.push_back({printable(interface.name), kind, interface.is_up ? "up" : "down",
                    interface.mtu == 0 ? "" : fmt::to_string(interface.mtu),
                    interface.speed_mbps == 0
                        ? ""
                        : fmt::format("{:g} Gb/s", static_cast<double>(interface.speed_mbps) / 1e3),
                    printable(on), use_text(fabric::use_of(node, interface))});
  }
  return rows.size() == 1 ? std::string()
                          : "\n" + columns_text(without_empty_columns(std::move(rows)), {});
}

// The network settings of the user and of nccl.conf, and what toprun would do without them.
std::string own_settings_text(const NodeFabric& node) {
  std::vector<std::vector<std::string>> rows = {{"SETTING", "FROM", "WITHOUT IT, TOPRUN"}};
  const auto others = fabric::decide(fabric::without_own(node));
  for (const Setting& setting : fabric::decide(node)) {
    const bool is_own = setting.source == fabric::SettingSource::user ||
                        setting.source == fabric::SettingSource::file;
    if (!is_own || !setting.value) continue;
    const auto other = std::ranges::find(others, setting.name, &Setting::name);
    std::string without = "leaves it unset";
    if (other != others.end() && other->value) without = "sets " + *other->value;
    if (other != others.end()) without += fmt::format(" ({})", other->reason);
    rows.push_back({printable(setting.name + "=" + *setting.value), printable(setting.reason),
                    printable(without)});
  }
  return rows.size() == 1 ? std::string() : "\n" + columns_text(rows, {});
}

std::string profile_line(const NodeFabric& node) {
  if (node.profile == nullptr) return {};
  const fabric::Profile& profile = *node.profile;
  const std::string why =
      node.absent_mark.empty() ? fabric::evidence_of(profile) : "asked for; " + node.absent_mark;
  std::string line = fmt::format("fabric {}: {} ({})\n", profile.name, profile.title, why);
  if (!profile.note.empty()) line += fmt::format("  {}\n", profile.note);
  return line;
}

// Whether the user's own value reaches the workers whatever the profile's script does.
bool stays(const NodeFabric& node, std::span<const Setting> settings, const std::string& name) {
  const auto setting = std::ranges::find(settings, name, &Setting::name);
  return node.environment.has(name) && (setting == settings.end() || !fabric::is_ours(*setting));
}

std::optional<std::string> without_secret(const std::string& name,
                                          const std::optional<std::string>& value) {
  return value && holds_a_secret(name, *value) ? std::string(hidden_secret) : value;
}

// What the profile's script changes of the environment that it gets.
std::string script_text(const NodeFabric& node, std::span<const Setting> settings) {
  if (node.script_changes.empty()) return {};
  const auto shown = [](const std::string& name, const std::optional<std::string>& value) {
    return value ? printable(*without_secret(name, value)) : std::string("(unset)");
  };
  std::vector<std::vector<std::string>> rows;
  for (const fabric::ScriptChange& change : node.script_changes) {
    rows.push_back({"  " + printable(change.name),
                    fmt::format("{} -> {}{}", shown(change.name, change.before),
                                shown(change.name, change.after),
                                stays(node, settings, change.name) ? "; your value stays" : "")});
  }
  return fmt::format("{} changes\n", node.profile->script) + columns_text(rows, {});
}

ordered_json json_of(std::span<const Setting> settings) {
  ordered_json env = ordered_json::object();
  for (const Setting& setting : settings) {
    env[setting.name] = {{"value", or_null(setting.value)},
                         {"source", fabric::name_of(setting.source)},
                         {"reason", setting.reason}};
  }
  return env;
}

std::string_view layer_name(LinkLayer layer) {
  switch (layer) {
    case LinkLayer::infiniband:
      return "InfiniBand";
    case LinkLayer::ethernet:
      return "Ethernet";
    case LinkLayer::unknown:
      break;
  }
  return "unknown";
}

ordered_json json_of(const NodeFabric& node, const PortVerdict& verdict) {
  const Device& device = node.devices[verdict.device];
  const Port& port = device.ports[verdict.port];
  ordered_json gids = ordered_json::array();
  for (std::size_t i = 0; i < port.gids.size(); ++i) {
    const Gid& gid = port.gids[i];
    gids.push_back(
        {{"index", gid.index},
         {"gid", fabric::address_of(gid.bytes)},
         {"type", type_of(port, gid)},
         {"netdev", or_null(gid.interface)},
         {"why_not", or_null(i < verdict.gid.why_not.size() ? verdict.gid.why_not[i] : "")}});
  }
  return {{"name", device.name},
          {"port", port.number},
          {"link_layer", layer_name(port.link_layer)},
          {"state", fabric::name_of(port.state)},
          {"rate_gbps", or_null(port.rate_gbps != 0, port.rate_gbps)},
          {"netdev", or_null(join(device.interfaces, ","))},
          {"numa", or_null(device.numa)},
          {"pci", or_null(device.pci)},
          {"gids", std::move(gids)},
          {"gid_index", or_null(verdict.gid.index)},
          {"chosen", verdict.is_chosen()},
          {"why_not", or_null(!verdict.is_chosen(), verdict.why_not)}};
}

ordered_json json_of(const NodeFabric& node, const Interface& interface) {
  const fabric::InterfaceUse use = fabric::use_of(node, interface);
  return {{"name", interface.name},
          {"kind", fabric::name_of(interface.kind)},
          {"up", interface.is_up},
          {"mtu", interface.mtu},
          {"speed_mbps", or_null(interface.speed_mbps != 0, interface.speed_mbps)},
          {"below", interface.below},
          {"default_route", interface.has_default_route},
          {"used", or_null(use.is_used)},
          {"why", use.why}};
}

ordered_json name_of_profile(const NodeFabric& node) {
  return node.profile == nullptr ? ordered_json(nullptr)
                                 : ordered_json(std::string(node.profile->name));
}

// null: the profile has no script that changes anything.
ordered_json script_json(const NodeFabric& node) {
  if (node.script_changes.empty()) return nullptr;
  ordered_json changes = ordered_json::object();
  for (const fabric::ScriptChange& change : node.script_changes) {
    changes[change.name] = {{"before", or_null(without_secret(change.name, change.before))},
                            {"after", or_null(without_secret(change.name, change.after))}};
  }
  return {{"path", std::string(node.profile->script)}, {"changes", std::move(changes)}};
}

std::string dump(const ordered_json& document) {
  return json_text(document, 1) + '\n';
}

}  // namespace

std::string network_text(const NodeFabric& node, std::span<const PciPlace> gpus,
                         std::span<const std::optional<PciPlace>> places) {
  std::string text = profile_line(node);
  text += node.choice.ports.empty() ? "no RDMA device\n" : ports_text(node, gpus, places);
  return text + gids_text(node) + interfaces_text(node) + own_settings_text(node);
}

std::string settings_text(const NodeFabric& node, std::span<const Setting> settings) {
  std::string set = profile_line(node) + script_text(node, settings);
  std::vector<std::vector<std::string>> left;
  for (const Setting& setting : settings) {
    const std::string reason = printable(setting.reason);
    if (!setting.value) {
      left.push_back({"  " + printable(setting.name), reason});
      continue;
    }
    set += fmt::format("{}={}\n  {}: {}\n", printable(setting.name), printable(*setting.value),
                       fabric::name_of(setting.source), reason);
  }
  return left.empty() ? set : set + "left alone\n" + columns_text(left, {});
}

std::string settings_shell(std::span<const Setting> settings) {
  std::string text;
  for (const Setting& setting : settings) {
    if (!fabric::is_ours(setting)) continue;
    const std::vector<std::string> word = {*setting.value};
    text += fmt::format("export {}={}\n", setting.name, shell_quote(word));
  }
  return text;
}

std::string network_json(const NodeFabric& node, std::span<const Setting> settings) {
  ordered_json devices = ordered_json::array();
  for (const PortVerdict& verdict : node.choice.ports) devices.push_back(json_of(node, verdict));
  ordered_json interfaces = ordered_json::array();
  for (const Interface& interface : node.interfaces) interfaces.push_back(json_of(node, interface));
  return dump({{"schema", "toprun.net_show/1"},
               {"profile", name_of_profile(node)},
               {"devices", std::move(devices)},
               {"interfaces", std::move(interfaces)},
               {"env", json_of(settings)}});
}

std::string settings_json(const NodeFabric& node, std::span<const Setting> settings) {
  return dump({{"schema", "toprun.net_env/1"},
               {"profile", name_of_profile(node)},
               {"script", script_json(node)},
               {"env", json_of(settings)}});
}

}  // namespace toprun::report
