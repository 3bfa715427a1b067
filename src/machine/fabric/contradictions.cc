#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <set>

#include "base/text/text.h"
#include "machine/fabric/nccl_names.h"
#include "machine/fabric/settings.h"

namespace toprun::fabric {
namespace {

constexpr std::int64_t most_sockets = 64;  // NCCL: MAX_SOCKETS

// A variable that the user or an nccl.conf sets.
struct Own {
  std::string value;
  std::string origin;
};

std::optional<Own> own(const NodeFabric& node, std::string_view name) {
  if (auto value = node.environment.get(name)) return Own{*std::move(value), "set by you"};
  const auto found = std::ranges::find(node.nccl_conf, name, &FileSetting::name);
  if (found == node.nccl_conf.end()) return std::nullopt;
  return Own{found->value, found->file};
}

// NCCL reads a number from the beginning of the value (ncclLoadParam() in param.cc). A text without
// a number counts as the default, or as 0 in older versions. nullopt: no number.
std::optional<long long> number_in(const std::string& value) {
  errno = 0;
  char* end = nullptr;
  const long long number = std::strtoll(value.c_str(), &end, 0);
  if (errno != 0 || end == value.c_str()) return std::nullopt;
  return number;
}

bool disables_rdma(const std::optional<Own>& own) {
  return own && number_in(own->value).value_or(0) != 0;
}

void add_other_values(const NodeFabric& node, std::vector<std::string>& said) {
  for (const Setting& requested : decide(without_own(node))) {
    const auto mine = own(node, requested.name);
    if (!mine || !requested.value || mine->value == *requested.value) continue;
    if (requested.name == "LD_LIBRARY_PATH") continue;  // the result contains both
    const auto is_of_it = [&](const std::string& one) {
      return one.starts_with(requested.name + "=");
    };
    if (std::ranges::any_of(said, is_of_it)) continue;  // its mistake is said
    const std::string why =
        requested.source == SettingSource::profile
            ? fmt::format("{} sets {}", requested.reason, *requested.value)
            : fmt::format("toprun would set {}: {}", *requested.value, requested.reason);
    said.push_back(fmt::format("{}={} ({}): {}", requested.name, mine->value, mine->origin, why));
  }
}

void add_absent_profile(const NodeFabric& node, std::vector<std::string>& said) {
  if (node.profile == nullptr || node.absent_mark.empty()) return;
  said.push_back(fmt::format("--fabric {}: this machine does not look like {}: {}",
                             node.profile->name, node.profile->title, node.absent_mark));
}

// A list of devices or interfaces, as its reader takes it.
struct NameList {
  bool excludes = false;
  bool exact = false;
  std::vector<std::string> entries;  // "mlx5_0:1"
};

std::vector<std::string> entries_of(std::string_view list) {
  std::vector<std::string> entries;
  for (const std::string_view entry : split(list, ',')) {
    if (!trim(entry).empty()) entries.emplace_back(trim(entry));
  }
  return entries;
}

// "^=a,b:1" (NCCL: parseStringList).
NameList nccl_list(std::string_view text) {
  NameList list;
  list.excludes = text.starts_with('^');
  if (list.excludes) text.remove_prefix(1);
  list.exact = text.starts_with('=');
  if (list.exact) text.remove_prefix(1);
  list.entries = entries_of(text);
  return list;
}

std::string name_in(const std::string& entry) {
  return entry.substr(0, entry.find(':'));
}

bool means(const NameList& list, const std::string& entry, std::string_view name) {
  return list.exact ? name == name_in(entry) : name.starts_with(name_in(entry));
}

// Whether NCCL_IB_HCA's list selects the port.
bool selects(const NameList& list, const std::string& device, int port) {
  const auto matches = [&](const std::string& entry) {
    const auto colon = entry.find(':');
    const bool is_of_all = colon == std::string::npos;
    return means(list, entry, device) &&
           (is_of_all || parse_int(std::string_view(entry).substr(colon + 1)) == port);
  };
  const bool is_named = list.entries.empty() || std::ranges::any_of(list.entries, matches);
  return is_named != list.excludes;
}

// A list that makes NCCL use an active port which has another purpose.
void add_unwanted_port(const NodeFabric& node, std::vector<std::string>& said) {
  const auto mine = own(node, "NCCL_IB_HCA");
  if (!mine || !node.choice.uses_rdma()) return;
  const NameList list = nccl_list(mine->value);
  for (const PortVerdict& verdict : node.choice.ports) {
    const Device& device = node.devices[verdict.device];
    const Port& port = device.ports[verdict.port];
    const bool is_active = port.state == PortState::active && !is_efa(device);
    if (verdict.is_chosen() || !is_active || !selects(list, device.name, port.number)) {
      continue;
    }
    said.push_back(fmt::format("NCCL_IB_HCA={} ({}) also selects {}:{}: {}", mine->value,
                               mine->origin, device.name, port.number, verdict.why_not));
    return;
  }
}

// The reason why no port can use the entry of its table; empty: the entry may be meant.
std::string why_useless(const Port& port, std::int64_t index) {
  const auto gid = std::ranges::find(port.gids, index, &Gid::index);
  if (gid == port.gids.end()) return "is empty";
  const GidScope scope = scope_of(gid->bytes);
  if (scope == GidScope::link_local || scope == GidScope::ipv4_link_local) {
    return fmt::format("({}) is link-local", address_of(gid->bytes));
  }
  return gid->type == GidType::v1 ? fmt::format("({}) is RoCE v1", address_of(gid->bytes)) : "";
}

void add_wrong_gid(const NodeFabric& node, std::vector<std::string>& said) {
  const auto mine = own(node, "NCCL_IB_GID_INDEX");
  const auto index = mine ? parse_int(mine->value) : std::nullopt;
  if (!index || *index < 0 || node.choice.layer != LinkLayer::ethernet) return;
  for (const PortVerdict& verdict : node.choice.ports) {
    const Device& device = node.devices[verdict.device];
    const Port& port = device.ports[verdict.port];
    if (!verdict.is_chosen()) continue;
    const std::string why = why_useless(port, *index);
    if (why.empty()) continue;
    said.push_back(fmt::format("NCCL_IB_GID_INDEX={} ({}): entry {} of {} {}; entry {} is right",
                               mine->value, mine->origin, *index, device.name, why,
                               verdict.gid.index.value_or(0)));
    return;
  }
}

void add_disabled_rdma(const NodeFabric& node, std::vector<std::string>& said) {
  const auto mine = own(node, "NCCL_IB_DISABLE");
  if (!disables_rdma(mine) || !node.choice.uses_rdma()) return;
  said.push_back(
      fmt::format("NCCL_IB_DISABLE={} ({}): NCCL leaves this machine's RDMA ports unused",
                  mine->value, mine->origin));
}

std::string sentence(std::string_view variable, const Own& mine, std::string_view what) {
  return fmt::format("{}={} ({}): this machine has no {}", variable, mine.value, mine.origin, what);
}

// Whether NCCL would look for RDMA devices, by what the user sets and the profile.
bool looks_for_devices(const NodeFabric& node) {
  const auto net = own(node, "NCCL_NET");
  const bool is_off =
      (net && lower(net->value) == "socket") || disables_rdma(own(node, "NCCL_IB_DISABLE"));
  return !is_off && (node.profile == nullptr || !node.profile->has_own_transport);
}

// What is wrong with an entry of NCCL_IB_HCA: "RDMA device mlx5_7"; empty: nothing.
std::string absent_device(const NodeFabric& node, const NameList& list, const std::string& entry) {
  const auto colon = entry.find(':');
  const auto number = colon == std::string::npos
                          ? std::nullopt
                          : parse_int(std::string_view(entry).substr(colon + 1));
  bool is_there = false;
  for (const Device& device : node.devices) {
    if (!means(list, entry, device.name)) continue;
    is_there = true;
    const bool has_port =
        device.ports.empty() ||
        std::ranges::find(device.ports, number, &Port::number) != device.ports.end();
    if (!number || has_port) return {};
  }
  return is_there ? "RDMA port " + entry : "RDMA device " + name_in(entry);
}

void add_absent_devices(const NodeFabric& node, std::vector<std::string>& said) {
  const auto mine = own(node, "NCCL_IB_HCA");
  const NameList list = nccl_list(mine ? mine->value : std::string());
  if (list.excludes || list.entries.empty()) return;
  if (node.has_no_device && looks_for_devices(node)) {
    said.push_back(sentence("NCCL_IB_HCA", *mine, "RDMA device"));
  }
  if (node.devices.empty()) return;
  for (const std::string& entry : list.entries) {
    const std::string absent = absent_device(node, list, entry);
    if (!absent.empty()) said.push_back(sentence("NCCL_IB_HCA", *mine, absent));
  }
}

// NCCL's own transport over RDMA; the plugins of other networks have other names.
void add_net_of_no_device(const NodeFabric& node, std::vector<std::string>& said) {
  const auto mine = own(node, "NCCL_NET");
  if (!mine || lower(mine->value) != "ib" || !node.has_no_device) return;
  said.push_back(sentence("NCCL_NET", *mine, "RDMA device"));
}

void add_gid_of_no_device(const NodeFabric& node, std::vector<std::string>& said) {
  const auto mine = own(node, "NCCL_IB_GID_INDEX");
  const auto index = mine ? parse_int(mine->value) : std::nullopt;
  if (!index || *index < 0 || !node.has_no_device || !looks_for_devices(node)) return;
  said.push_back(sentence("NCCL_IB_GID_INDEX", *mine, "RDMA device"));
}

void add_absent_interfaces(const NodeFabric& node, std::string_view variable,
                           NameList (*list_of)(std::string_view), std::vector<std::string>& said) {
  const auto mine = own(node, variable);
  if (!mine || node.interfaces.empty()) return;
  const NameList list = list_of(mine->value);
  if (list.excludes) return;
  for (const std::string& entry : list.entries) {
    const bool is_there = std::ranges::any_of(
        node.interfaces, [&](const Interface& one) { return means(list, entry, one.name); });
    if (!is_there) said.push_back(sentence(variable, *mine, "interface " + name_in(entry)));
  }
}

// A list that leaves the loopback interface alone. A job on one host may use it.
void add_loopback(const NodeFabric& node, std::string_view variable,
                  NameList (*list_of)(std::string_view), std::vector<std::string>& said) {
  const auto mine = own(node, variable);
  if (!mine) return;
  const NameList list = list_of(mine->value);
  const auto selected = [&](const Interface& one) {
    return std::ranges::any_of(
        list.entries, [&](const std::string& entry) { return means(list, entry, one.name); });
  };
  const auto is_loopback = [](const Interface& one) { return one.kind == InterfaceKind::loopback; };
  std::vector<Interface> chosen;
  std::ranges::copy_if(node.interfaces, std::back_inserter(chosen), selected);
  if (list.excludes || chosen.empty() || !std::ranges::all_of(chosen, is_loopback)) return;
  said.push_back(fmt::format("{}={} ({}): {} reaches no other node", variable, mine->value,
                             mine->origin, chosen.front().name));
}

// PyTorch's Gloo takes whole names alone, with a comma between.
NameList gloo_list(std::string_view text) {
  return {false, true, entries_of(text)};
}

void add_too_many_sockets(const NodeFabric& node, std::vector<std::string>& said) {
  const auto threads = own(node, "NCCL_SOCKET_NTHREADS");
  const auto sockets = own(node, "NCCL_NSOCKS_PERTHREAD");
  if (!threads || !sockets) return;
  const auto product =
      parse_int(threads->value).value_or(0) * parse_int(sockets->value).value_or(0);
  if (product <= most_sockets) return;
  said.push_back(
      fmt::format("NCCL_SOCKET_NTHREADS={} times NCCL_NSOCKS_PERTHREAD={} is above {}; NCCL lowers "
                  "the product to this limit",
                  threads->value, sockets->value, most_sockets));
}

// A shell strips quotes, `docker --env-file` and Kubernetes do not. Returns the node without these
// variables: their other faults follow from the quotes.
NodeFabric add_quoted(const NodeFabric& node, std::vector<std::string>& said) {
  NodeFabric rest = node;
  for (const auto& [name, value] : node.environment.variables()) {
    const bool is_quoted =
        value.size() > 1 && value.front() == value.back() && (value[0] == '"' || value[0] == '\'');
    if (!name.starts_with("NCCL_") || !is_quoted) continue;
    said.push_back(
        fmt::format("{}={} (set by you): the quotes are part of the value", name, value));
    rest.environment.unset(name);
    std::erase_if(rest.nccl_conf, [&](const FileSetting& one) { return one.name == name; });
  }
  return rest;
}

void add_mistyped(const NodeFabric& node, std::vector<std::string>& said) {
  std::set<std::string, std::less<>> names;
  for (const auto& [name, value] : node.environment.variables()) names.insert(name);
  for (const FileSetting& setting : node.nccl_conf) names.insert(setting.name);
  for (const std::string& name : names) {
    if (is_known_nccl_name(name)) continue;
    const auto meant = nearest_nccl_name(name);
    said.push_back(fmt::format("{}: NCCL does not have this variable{}", name,
                               meant ? fmt::format("; did you mean {}?", *meant) : ""));
  }
}

// NCCL documents the first four. It also accepts ABORT, and RCCL accepts NONE and ERROR.
void add_unknown_level(const NodeFabric& node, std::vector<std::string>& said) {
  constexpr std::array levels = {"version", "warn", "info", "trace", "abort", "none", "error"};
  const auto mine = own(node, "NCCL_DEBUG");
  if (!mine || mine->value.empty()) return;
  if (std::ranges::find(levels, lower(mine->value)) != levels.end()) return;
  said.push_back(
      fmt::format("NCCL_DEBUG={} ({}): NCCL's levels are VERSION, WARN, INFO and TRACE; NCCL "
                  "ignores other values",
                  mine->value, mine->origin));
}

void add_no_number(const NodeFabric& node, std::vector<std::string>& said) {
  constexpr std::array negations = {"false", "no", "off"};
  const auto mine = own(node, "NCCL_IB_DISABLE");
  if (!mine || mine->value.empty() || number_in(mine->value)) return;
  if (std::ranges::find(negations, lower(mine->value)) != negations.end()) return;
  said.push_back(
      fmt::format("NCCL_IB_DISABLE={} ({}): NCCL expects a number, and ignores this value; 1 "
                  "disables RDMA",
                  mine->value, mine->origin));
}

void add_mistakes(const NodeFabric& node, std::vector<std::string>& said) {
  add_absent_profile(node, said);
  add_disabled_rdma(node, said);
  add_unwanted_port(node, said);
  add_wrong_gid(node, said);
  add_absent_devices(node, said);
  add_gid_of_no_device(node, said);
  add_net_of_no_device(node, said);
  add_absent_interfaces(node, "NCCL_SOCKET_IFNAME", nccl_list, said);
  add_absent_interfaces(node, "GLOO_SOCKET_IFNAME", gloo_list, said);
  add_loopback(node, "NCCL_SOCKET_IFNAME", nccl_list, said);
  add_loopback(node, "GLOO_SOCKET_IFNAME", gloo_list, said);
  add_too_many_sockets(node, said);
  add_mistyped(node, said);
}

}  // namespace

NodeFabric without_own(const NodeFabric& node) {
  NodeFabric bare = node;
  bare.environment = {};
  bare.nccl_conf.clear();
  return bare;
}

std::optional<std::string> why_no_rdma(const NodeFabric& node) {
  const auto says = [](const char* name, const Own& mine) {
    return fmt::format("{}={} ({})", name, mine.value, mine.origin);
  };
  if (const auto net = own(node, "NCCL_NET"); net && lower(net->value) == "socket") {
    return says("NCCL_NET", *net);
  }
  if (node.profile != nullptr && node.profile->has_own_transport) return std::nullopt;
  if (const auto off = own(node, "NCCL_IB_DISABLE"); disables_rdma(off)) {
    return says("NCCL_IB_DISABLE", *off);
  }
  if (node.choice.uses_rdma()) return std::nullopt;
  if (node.choice.ports.empty()) return "it has no RDMA device";
  const PortVerdict& first = node.choice.ports.front();
  const Device& device = node.devices[first.device];
  return fmt::format("no RDMA port can be used: {}:{}: {}", device.name,
                     device.ports[first.port].number, first.why_not);
}

std::vector<std::string> mistakes(const NodeFabric& node) {
  std::vector<std::string> said;
  add_mistakes(add_quoted(node, said), said);
  return said;
}

std::vector<std::string> without_effect(const NodeFabric& node) {
  std::vector<std::string> said, quoted;
  const NodeFabric rest = add_quoted(node, quoted);
  add_unknown_level(rest, said);
  add_no_number(rest, said);
  return said;
}

std::vector<std::string> absent_interfaces(const NodeFabric& node) {
  std::vector<std::string> said;
  add_absent_interfaces(node, "NCCL_SOCKET_IFNAME", nccl_list, said);
  add_absent_interfaces(node, "GLOO_SOCKET_IFNAME", gloo_list, said);
  return said;
}

std::vector<std::string> contradictions(const NodeFabric& node) {
  std::vector<std::string> said;
  const NodeFabric rest = add_quoted(node, said);
  add_mistakes(rest, said);
  add_other_values(rest, said);
  return said;
}

}  // namespace toprun::fabric
