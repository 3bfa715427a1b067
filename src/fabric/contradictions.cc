#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "fabric/nccl_names.h"
#include "fabric/settings.h"

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

// The node without the user's settings and nccl.conf, to find out what toprun would set.
NodeFabric without_own(const NodeFabric& node) {
  NodeFabric bare = node;
  bare.environment = {};
  bare.nccl_conf.clear();
  return bare;
}

void add_other_values(const NodeFabric& node, std::vector<std::string>& said) {
  for (const Setting& wanted : decide(without_own(node))) {
    const auto mine = own(node, wanted.name);
    if (!mine || !wanted.value || mine->value == *wanted.value) continue;
    if (wanted.name == "LD_LIBRARY_PATH") continue;  // the result contains both
    const std::string why = wanted.source == SettingSource::profile
                                ? fmt::format("{} sets {}", wanted.reason, *wanted.value)
                                : fmt::format("{} is right here: {}", *wanted.value, wanted.reason);
    said.push_back(fmt::format("{}={} ({}): {}", wanted.name, mine->value, mine->origin, why));
  }
}

void add_absent_profile(const NodeFabric& node, std::vector<std::string>& said) {
  if (node.profile == nullptr || node.absent_mark.empty()) return;
  said.push_back(fmt::format("--fabric {}: this machine does not look like {}: {}",
                             node.profile->name, node.profile->title, node.absent_mark));
}

// Whether a list in the form of NCCL_IB_HCA ("^=mlx5_0:1,mlx5_3") selects the port.
bool selects(std::string_view list, const std::string& device, int port) {
  const bool excludes = list.starts_with('^');
  if (excludes) list.remove_prefix(1);
  const bool exact = list.starts_with('=');
  if (exact) list.remove_prefix(1);
  const auto matches = [&](std::string_view entry) {
    const auto parts = split(trim(entry), ':');
    const bool is_named = exact ? device == parts[0] : device.starts_with(parts[0]);
    return is_named && (parts.size() < 2 || parse_int(parts[1]) == port);
  };
  return std::ranges::any_of(split(list, ','), matches) != excludes;
}

// A list that makes NCCL use an active port which has another purpose.
void add_unwanted_port(const NodeFabric& node, std::vector<std::string>& said) {
  const auto mine = own(node, "NCCL_IB_HCA");
  if (!mine || !node.choice.uses_rdma()) return;
  for (const PortVerdict& verdict : node.choice.ports) {
    const Device& device = node.devices[verdict.device];
    const Port& port = device.ports[verdict.port];
    const bool is_active = port.state == PortState::active && !is_efa(device);
    if (verdict.is_chosen() || !is_active || !selects(mine->value, device.name, port.number)) {
      continue;
    }
    said.push_back(fmt::format("NCCL_IB_HCA={} ({}) selects {}:{} too: {}", mine->value,
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
  if (!mine || !node.choice.uses_rdma() || mine->value == "0") return;
  said.push_back(
      fmt::format("NCCL_IB_DISABLE={} ({}): NCCL leaves this machine's RDMA ports unused",
                  mine->value, mine->origin));
}

// The names in a list in NCCL's form without its prefix: "a,b:1".
std::vector<std::string> names_in(std::string_view list) {
  std::vector<std::string> names;
  for (const std::string_view entry : split(list, ',')) {
    const auto name = trim(entry.substr(0, entry.find(':')));
    if (!name.empty()) names.emplace_back(name);
  }
  return names;
}

template <class Range, class Name>
void add_strangers(const NodeFabric& node, std::string_view variable, const Range& known,
                   Name name_of, std::string_view kind, std::vector<std::string>& said) {
  const auto mine = own(node, variable);
  if (!mine || mine->value.starts_with('^') || known.empty()) return;
  const bool exact = mine->value.starts_with('=');
  for (const std::string& name : names_in(std::string_view(mine->value).substr(exact ? 1 : 0))) {
    const bool is_there = std::ranges::any_of(known, [&](const auto& each) {
      return exact ? name_of(each) == name : name_of(each).starts_with(name);
    });
    if (is_there) continue;
    said.push_back(fmt::format("{}={} ({}): this machine has no {} {}", variable, mine->value,
                               mine->origin, kind, name));
  }
}

void add_too_many_sockets(const NodeFabric& node, std::vector<std::string>& said) {
  const auto threads = own(node, "NCCL_SOCKET_NTHREADS");
  const auto sockets = own(node, "NCCL_NSOCKS_PERTHREAD");
  if (!threads || !sockets) return;
  const auto product =
      parse_int(threads->value).value_or(0) * parse_int(sockets->value).value_or(0);
  if (product <= most_sockets) return;
  said.push_back(
      fmt::format("NCCL_SOCKET_NTHREADS={} times NCCL_NSOCKS_PERTHREAD={} is above {}, "
                  "to which NCCL lowers it",
                  threads->value, sockets->value, most_sockets));
}

// A shell strips quotes, `docker --env-file` and Kubernetes do not.
void add_quoted(const NodeFabric& node, std::vector<std::string>& said) {
  for (const auto& [name, value] : node.environment.variables()) {
    const bool is_quoted =
        value.size() > 1 && value.front() == value.back() && (value[0] == '"' || value[0] == '\'');
    if (!name.starts_with("NCCL_") || !is_quoted) continue;
    said.push_back(
        fmt::format("{}={} (set by you): the quotes are part of the value", name, value));
  }
}

void add_mistyped(const NodeFabric& node, std::vector<std::string>& said) {
  std::set<std::string, std::less<>> names;
  for (const auto& [name, value] : node.environment.variables()) names.insert(name);
  for (const FileSetting& setting : node.nccl_conf) names.insert(setting.name);
  for (const std::string& name : names) {
    if (is_known_nccl_name(name)) continue;
    const auto meant = nearest_nccl_name(name);
    said.push_back(fmt::format("{}: NCCL knows no such variable{}", name,
                               meant ? fmt::format("; did you mean {}?", *meant) : ""));
  }
}

}  // namespace

std::optional<std::string> why_no_rdma(const NodeFabric& node) {
  const auto says = [](const char* name, const Own& mine) {
    return fmt::format("{}={} ({})", name, mine.value, mine.origin);
  };
  if (const auto net = own(node, "NCCL_NET"); net && lower(net->value) == "socket") {
    return says("NCCL_NET", *net);
  }
  if (node.profile != nullptr && node.profile->has_own_transport) return std::nullopt;
  if (const auto off = own(node, "NCCL_IB_DISABLE"); off && off->value != "0") {
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
  add_absent_profile(node, said);
  add_disabled_rdma(node, said);
  add_unwanted_port(node, said);
  add_wrong_gid(node, said);
  add_strangers(
      node, "NCCL_IB_HCA", node.devices, [](const Device& d) { return d.name; }, "RDMA device",
      said);
  add_strangers(
      node, "NCCL_SOCKET_IFNAME", node.interfaces, [](const Interface& i) { return i.name; },
      "interface", said);
  add_too_many_sockets(node, said);
  add_quoted(node, said);
  add_mistyped(node, said);
  return said;
}

std::vector<std::string> contradictions(const NodeFabric& node) {
  std::vector<std::string> said = mistakes(node);
  add_other_values(node, said);
  return said;
}

}  // namespace toprun::fabric
