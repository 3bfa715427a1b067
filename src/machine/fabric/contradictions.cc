#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <set>

#include "base/text/secrets.h"
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

using Said = std::vector<std::string>;

bool is_quoted(std::string_view value) {
  return value.size() > 1 && value.front() == value.back() && (value[0] == '"' || value[0] == '\'');
}

// The value for a message, which log files may keep.
std::string_view shown_value(std::string_view variable, std::string_view value) {
  const std::string_view plain = is_quoted(value) ? value.substr(1, value.size() - 2) : value;
  return holds_a_secret(variable, plain) ? hidden_secret : value;
}

void add(Said& said, std::string_view variable, const Own& mine, std::string_view what) {
  said.push_back(fmt::format("{}={} ({}): {}", variable, shown_value(variable, mine.value),
                             mine.origin, what));
}

// Whether a mistake of the variable is said.
bool is_said(const Said& said, std::string_view variable) {
  return std::ranges::any_of(said, [&](const std::string& one) {
    return one.starts_with(variable) && one.substr(variable.size(), 1) == "=";
  });
}

void add_other_values(const NodeFabric& node, Said& said) {
  for (const Setting& requested : decide(without_own(node))) {
    const auto mine = own(node, requested.name);
    if (!mine || !requested.value || mine->value == *requested.value) continue;
    if (requested.name == "LD_LIBRARY_PATH") continue;  // the result contains both
    if (is_said(said, requested.name)) continue;
    const std::string why =
        requested.source == SettingSource::profile
            ? fmt::format("{} sets {}", requested.reason, *requested.value)
            : fmt::format("toprun would set {}: {}", *requested.value, requested.reason);
    add(said, requested.name, *mine, why);
  }
}

void add_absent_profile(const NodeFabric& node, Said& said) {
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

// A blank is a part of its entry.
std::vector<std::string> entries_of(std::string_view list) {
  std::vector<std::string> entries;
  for (const std::string_view entry : split(list, ',')) {
    if (!entry.empty()) entries.emplace_back(entry);
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

// The port in "mlx5_0:1" and "mlx5_0:1:RAIL:PLANE"; nullopt: all ports of the device.
std::optional<std::int64_t> port_in(const std::string& entry) {
  const auto fields = split(entry, ':');
  return fields.size() < 2 ? std::nullopt : parse_int(fields[1]);
}

bool means(const NameList& list, const std::string& entry, std::string_view name) {
  return list.exact ? name == name_in(entry) : name.starts_with(name_in(entry));
}

// Whether NCCL_IB_HCA's list selects the port.
bool selects(const NameList& list, const std::string& device, int port) {
  const auto matches = [&](const std::string& entry) {
    return means(list, entry, device) && port_in(entry).value_or(port) == port;
  };
  const bool is_named = list.entries.empty() || std::ranges::any_of(list.entries, matches);
  return is_named != list.excludes;
}

// A list that makes NCCL use an active port which has another purpose.
void add_unwanted_port(const NodeFabric& node, Said& said) {
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

void add_wrong_gid(const NodeFabric& node, Said& said) {
  const auto mine = own(node, "NCCL_IB_GID_INDEX");
  const auto index = mine ? parse_int(mine->value) : std::nullopt;
  if (!index || *index < 0 || node.choice.layer != LinkLayer::ethernet) return;
  for (const PortVerdict& verdict : node.choice.ports) {
    const Device& device = node.devices[verdict.device];
    const Port& port = device.ports[verdict.port];
    if (!verdict.is_chosen()) continue;
    const std::string why = why_useless(port, *index);
    if (why.empty()) continue;
    add(said, "NCCL_IB_GID_INDEX", *mine,
        fmt::format("entry {} of {} {}; entry {} is right", *index, device.name, why,
                    verdict.gid.index.value_or(0)));
    return;
  }
}

void add_disabled_rdma(const NodeFabric& node, Said& said) {
  const auto mine = own(node, "NCCL_IB_DISABLE");
  if (!disables_rdma(mine) || !node.choice.uses_rdma()) return;
  add(said, "NCCL_IB_DISABLE", *mine, "NCCL leaves this machine's RDMA ports unused");
}

// A name with a blank in it is hard to see.
std::string shown(const std::string& name) {
  return trim(name) == name ? name : fmt::format("\"{}\": the blank is a part of the name", name);
}

void add_lack(Said& said, std::string_view variable, const Own& mine, std::string_view what) {
  add(said, variable, mine, fmt::format("this machine has no {}", what));
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
  const auto number = port_in(entry);
  bool is_there = false;
  for (const Device& device : node.devices) {
    if (!means(list, entry, device.name)) continue;
    is_there = true;
    const bool has_port =
        device.ports.empty() ||
        std::ranges::find(device.ports, number, &Port::number) != device.ports.end();
    if (!number || has_port) return {};
  }
  return is_there ? "RDMA port " + entry : "RDMA device " + shown(name_in(entry));
}

void add_absent_devices(const NodeFabric& node, Said& said) {
  const auto mine = own(node, "NCCL_IB_HCA");
  const NameList list = nccl_list(mine ? mine->value : std::string());
  if (list.excludes || list.entries.empty()) return;
  if (node.has_no_device && looks_for_devices(node)) {
    add_lack(said, "NCCL_IB_HCA", *mine, "RDMA device");
  }
  if (node.devices.empty()) return;
  for (const std::string& entry : list.entries) {
    const std::string absent = absent_device(node, list, entry);
    if (!absent.empty()) add_lack(said, "NCCL_IB_HCA", *mine, absent);
  }
}

// A list without a port that NCCL could use.
void add_no_port(const NodeFabric& node, Said& said) {
  const auto mine = own(node, "NCCL_IB_HCA");
  if (!mine || !node.choice.uses_rdma() || is_said(said, "NCCL_IB_HCA")) return;
  const NameList list = nccl_list(mine->value);
  const auto is_usable = [&](const PortVerdict& verdict) {
    const Port& port = node.port_of(verdict);
    return port.state == PortState::active &&
           selects(list, node.devices[verdict.device].name, port.number);
  };
  if (std::ranges::any_of(node.choice.ports, is_usable)) return;
  add(said, "NCCL_IB_HCA", *mine, "it leaves no active RDMA port");
}

// NCCL's own transport over RDMA; the plugins of other networks have other names.
void add_net_of_no_device(const NodeFabric& node, Said& said) {
  const auto mine = own(node, "NCCL_NET");
  if (!mine || lower(mine->value) != "ib" || !node.has_no_device) return;
  add_lack(said, "NCCL_NET", *mine, "RDMA device");
}

void add_gid_of_no_device(const NodeFabric& node, Said& said) {
  const auto mine = own(node, "NCCL_IB_GID_INDEX");
  const auto index = mine ? parse_int(mine->value) : std::nullopt;
  if (!index || *index < 0 || !node.has_no_device || !looks_for_devices(node)) return;
  add_lack(said, "NCCL_IB_GID_INDEX", *mine, "RDMA device");
}

void add_absent_interfaces(const NodeFabric& node, std::string_view variable,
                           NameList (*list_of)(std::string_view), Said& said) {
  const auto mine = own(node, variable);
  if (!mine || node.interfaces.empty()) return;
  const NameList list = list_of(mine->value);
  if (list.excludes) return;
  for (const std::string& entry : list.entries) {
    const bool is_there = std::ranges::any_of(
        node.interfaces, [&](const Interface& one) { return means(list, entry, one.name); });
    if (!is_there) add_lack(said, variable, *mine, "interface " + shown(name_in(entry)));
  }
}

// A list without an interface that leads to other nodes. A job on one host may use the loopback
// interface.
void add_no_way_out(const NodeFabric& node, std::string_view variable,
                    NameList (*list_of)(std::string_view), Said& said) {
  const auto mine = own(node, variable);
  const NameList list = list_of(mine ? mine->value : std::string());
  if (list.entries.empty() || node.interfaces.empty() || is_said(said, variable)) return;
  const auto is_chosen = [&](const Interface& one) {
    const bool is_named = std::ranges::any_of(
        list.entries, [&](const std::string& entry) { return means(list, entry, one.name); });
    return is_named != list.excludes && (one.is_up || !list.excludes);
  };
  std::string only = "no interface";
  for (const Interface& one : node.interfaces) {
    if (!is_chosen(one)) continue;
    if (one.kind != InterfaceKind::loopback) return;
    only = fmt::format("only {}, which reaches no other node", one.name);
  }
  add(said, variable, *mine, "it leaves " + only);
}

// PyTorch's Gloo takes whole names alone, with a comma between.
NameList gloo_list(std::string_view text) {
  return {false, true, entries_of(text)};
}

// "eth2,mlx5_2:1" (UCX's FAQ, "Which network devices does UCX use?"). Other forms are not judged.
void add_absent_ucx_devices(const NodeFabric& node, Said& said) {
  constexpr const char* variable = "UCX_NET_DEVICES";
  const auto mine = own(node, variable);
  if (!mine || mine->value == "all" || node.interfaces.empty()) return;
  const NameList list = gloo_list(mine->value);
  for (const std::string& entry : list.entries) {
    if (entry.find_first_of("^*[]\"' ") != entry.npos) return;
    const std::string absent = absent_device(node, list, entry);
    if (absent.empty() || find(node.interfaces, entry) != nullptr) continue;
    const bool is_device = entry.find(':') != entry.npos;
    if (is_device && node.devices.empty() && !node.has_no_device) continue;
    add_lack(said, variable, *mine, is_device ? absent : "interface " + entry);
  }
}

void add_too_many_sockets(const NodeFabric& node, Said& said) {
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
NodeFabric add_quoted(const NodeFabric& node, Said& said) {
  NodeFabric rest = node;
  for (const auto& [name, value] : node.environment.variables()) {
    if (!name.starts_with("NCCL_") || !is_quoted(value)) continue;
    add(said, name, {value, "set by you"}, "the quotes are part of the value");
    rest.environment.unset(name);
    std::erase_if(rest.nccl_conf, [&](const FileSetting& one) { return one.name == name; });
  }
  return rest;
}

void add_mistyped(const NodeFabric& node, Said& said) {
  std::set<std::string, std::less<>> names;
  for (const auto& [name, value] : node.environment.variables()) names.insert(name);
  for (const FileSetting& setting : node.nccl_conf) names.insert(setting.name);
  for (const std::string& name : names) {
    if (is_known_nccl_name(name)) continue;
    const auto meant = nearest_nccl_name(name);
    std::string advice = meant ? fmt::format("; did you mean {}?", *meant) : "";
    if (name == "NCCL_TIMEOUT") {
      advice = "; PyTorch's timeout is an argument: init_process_group(timeout=...)";
    }
    said.push_back(fmt::format("{}: NCCL does not have this variable{}", name, advice));
  }
}

// What NCCL does with a word that it does not know (src/graph/tuning.cc and paths.cc,
// src/misc/socket.cc, and the user guide).
enum class Otherwise : std::uint8_t { ignored, plugin, failure };
constexpr std::array<std::string_view, 3> otherwise_texts = {
    "NCCL ignores other values", "another name must be a plugin's, or NCCL fails",
    "NCCL 2.24 and later fail with other values"};

// A variable whose value is one of some words, or a list of them.
struct Words {
  std::string_view variable;
  std::string_view kind;
  std::string_view words;  // "LL, LL128 and Simple"
  std::string_view also;   // accepted, but not named: of other versions, of RCCL
  Otherwise otherwise;
  bool is_exact = false;     // its letters are not compared without case
  bool has_numbers = false;  // a number is valid, too
};
constexpr std::array all_words = {
    Words{"NCCL_ALGO", "algorithms",
          "Ring, Tree, CollnetChain, CollnetDirect, NVLS, NVLSTree and PAT", "Collnet",
          Otherwise::failure},
    Words{"NCCL_PROTO", "protocols", "LL, LL128 and Simple", "", Otherwise::failure},
    Words{"NCCL_NET", "own networks", "IB and Socket", "", Otherwise::plugin},
    Words{"NCCL_DEBUG", "levels", "VERSION, WARN, INFO and TRACE", "ATTN ABORT NONE ERROR",
          Otherwise::ignored},
    Words{"NCCL_P2P_LEVEL", "levels", "LOC, NVL, PIX, PXB, PHB and SYS", "NVB C2C P2C PXN",
          Otherwise::ignored, true, true},
    Words{"NCCL_NET_GDR_LEVEL", "levels", "LOC, PIX, PXB, PHB and SYS", "NVL NVB C2C P2C PXN",
          Otherwise::ignored, true, true},
    Words{"NCCL_SOCKET_FAMILY", "families", "AF_INET and AF_INET6", "", Otherwise::ignored, true},
    Words{"NCCL_IB_ADDR_FAMILY", "families", "AF_INET and AF_INET6", "", Otherwise::ignored, true},
};

bool is_one_of(const Words& row, std::string_view word) {
  const auto same = [&](std::string_view one) {
    if (one.ends_with(',')) one.remove_suffix(1);
    return one != "and" && (row.is_exact ? one == word : lower(one) == lower(word));
  };
  const bool is_number = !word.empty() && word[0] >= '0' && word[0] <= '9';
  return (row.has_numbers && is_number) || std::ranges::any_of(words(row.words), same) ||
         std::ranges::any_of(words(row.also), same);
}

// NCCL_ALGO and NCCL_PROTO: "ring,tree;allreduce:^tree".
bool is_list_of(const Words& row, std::string_view list) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find_first_of(",;:^"), list.size());
    const bool is_function = end < list.size() && list[end] == ':';
    if (end > 0 && !is_function && !is_one_of(row, list.substr(0, end))) return false;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return true;
}

// Whether this may be a mistyped name of NCCL's own network. Any other name may be a plugin's.
bool resembles_own_network(std::string_view name) {
  const std::array<std::string, 2> own_networks = {"ib", "socket"};
  const std::string lowered = lower(name);
  return lowered != "gib" && did_you_mean(lowered, own_networks);  // gIB: Google's plugin
}

void add_unknown_words(const NodeFabric& node, bool are_failures, Said& said) {
  const bool has_plugin =
      own(node, "NCCL_NET_PLUGIN") || (node.profile != nullptr && node.profile->has_own_transport);
  for (const Words& row : all_words) {
    const bool is_failure = row.otherwise == Otherwise::failure;
    const auto mine = own(node, row.variable);
    if (is_failure != are_failures || !mine || mine->value.empty()) continue;
    const bool may_be_plugin = has_plugin || !resembles_own_network(mine->value);
    if (row.otherwise == Otherwise::plugin && may_be_plugin) continue;
    if (is_failure ? is_list_of(row, mine->value) : is_one_of(row, mine->value)) continue;
    add(said, row.variable, *mine,
        fmt::format("NCCL's {} are {}; {}", row.kind, row.words,
                    otherwise_texts[static_cast<std::size_t>(row.otherwise)]));
  }
}

// `row`: "CROSS_NIC:0:2". Returns what is wrong with the number's text; empty: nothing.
std::string number_fault(const std::vector<std::string_view>& row, const std::string& value) {
  constexpr std::string_view disable = "_DISABLE";
  const auto number = number_in(value);
  if (!number && row[0].ends_with(disable)) {  // 0 is their default
    const std::string word = lower(value);
    if (word == "false" || word == "no" || word == "off") return {};
    return fmt::format("NCCL expects a number, and ignores this value; 1 disables {}",
                       row[0].substr(0, row[0].size() - disable.size()));
  }
  if (!number) {
    return "NCCL expects a number; by its version, it ignores this value or reads 0";
  }
  char* rest = nullptr;
  (void)std::strtoll(value.c_str(), &rest, 0);
  if (!trim(rest).empty()) {
    return fmt::format("NCCL expects a number, and reads this value as {}", *number);
  }
  const bool is_allowed =
      row.size() < 3 || (*number >= parse_int(row[1]) && *number <= parse_int(row[2]));
  return is_allowed ? "" : fmt::format("NCCL's user guide allows {} to {}", row[1], row[2]);
}

void add_wrong_numbers(const NodeFabric& node, Said& said) {
  for (const std::string_view each : words(nccl_numbers())) {
    const auto row = split(each, ':');
    const std::string name = fmt::format("NCCL_{}", row[0]);
    const auto mine = own(node, name);
    if (!mine || mine->value.empty()) continue;
    const std::string fault = number_fault(row, mine->value);
    if (!fault.empty()) add(said, name, *mine, fault);
  }
}

void add_unusable_files(const NodeFabric& node, Said& said) {
  for (const ProfileSetting& file : node.unusable_files) {
    const auto mine = own(node, file.name);
    if (mine) {
      add(said, file.name, *mine, file.value);
    } else {
      said.push_back(file.name + ": " + file.value);
    }
  }
}

void add_mistakes(const NodeFabric& node, Said& said) {
  add_absent_profile(node, said);
  add_disabled_rdma(node, said);
  add_unwanted_port(node, said);
  add_wrong_gid(node, said);
  add_absent_devices(node, said);
  add_no_port(node, said);
  add_gid_of_no_device(node, said);
  add_net_of_no_device(node, said);
  add_absent_interfaces(node, "NCCL_SOCKET_IFNAME", nccl_list, said);
  add_absent_interfaces(node, "GLOO_SOCKET_IFNAME", gloo_list, said);
  add_no_way_out(node, "NCCL_SOCKET_IFNAME", nccl_list, said);
  add_no_way_out(node, "GLOO_SOCKET_IFNAME", gloo_list, said);
  add_absent_ucx_devices(node, said);
  add_too_many_sockets(node, said);
  add_unknown_words(node, true, said);
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
  add_unknown_words(rest, false, said);
  add_wrong_numbers(rest, said);
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
  add_unusable_files(rest, said);
  add_other_values(rest, said);
  return said;
}

}  // namespace toprun::fabric
