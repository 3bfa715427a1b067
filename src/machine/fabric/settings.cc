#include "machine/fabric/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text/text.h"

namespace toprun::fabric {
namespace {

constexpr std::array<std::string_view, 5> source_names = {"user", "nccl.conf", "toprun", "profile",
                                                          "left alone"};

constexpr NcclVersion first_that_searches{2, 21, 0};
// Earlier versions, from 2.21 on, fail at an entry whose type cannot be read.
constexpr NcclVersion first_that_bears_hidden_types{2, 26, 2};
// For a TCP connection between two ranks. NCCL allows a product of at most 64.
constexpr std::int64_t fast_link_mbps = 40'000;  // a slower link is filled by one socket
constexpr int socket_threads = 4;
constexpr int sockets_per_thread = 4;
constexpr int ipv4_mapped_bits = 96;
constexpr int gid_bits = 128;

// The result of a rule for its variable.
struct Decision {
  std::optional<std::string> value;
  std::string reason;
};

Decision leave(std::string reason) {
  return {std::nullopt, std::move(reason)};
}

std::vector<const PortVerdict*> chosen(const NodeFabric& node) {
  std::vector<const PortVerdict*> ports;
  for (const PortVerdict& verdict : node.choice.ports) {
    if (verdict.is_chosen()) ports.push_back(&verdict);
  }
  return ports;
}

// Lists ports as "mlx5_0:1,mlx5_3:1".
std::string list_of(const NodeFabric& node, const std::vector<const PortVerdict*>& ports) {
  std::vector<std::string> names;
  for (const PortVerdict* verdict : ports) {
    names.push_back(
        fmt::format("{}:{}", node.devices[verdict->device].name, node.port_of(*verdict).number));
  }
  return join(names, ",");
}

// An active port that is not chosen, which NCCL and UCX would use: they use all active ports.
const PortVerdict* active_but_not_chosen(const NodeFabric& node) {
  for (const PortVerdict& verdict : node.choice.ports) {
    const Port& port = node.port_of(verdict);
    const bool is_verbs = !is_efa(node.devices[verdict.device]);
    if (!verdict.is_chosen() && port.state == PortState::active && is_verbs) return &verdict;
  }
  return nullptr;
}

Decision adapters(const NodeFabric& node, std::string_view prefix) {
  const auto ports = chosen(node);
  if (ports.empty()) return leave("no RDMA port is used");
  const PortVerdict* const unwanted = active_but_not_chosen(node);
  if (unwanted == nullptr) {
    return leave(ports.size() == 1 ? "the only active port is the right one"
                                   : fmt::format("all {} active ports are right", ports.size()));
  }
  return {std::string(prefix) + list_of(node, ports),
          fmt::format("{} must not be used: {}", node.devices[unwanted->device].name,
                      unwanted->why_not)};
}

Decision ib_hca(const NodeFabric& node) {
  return adapters(node, "=");  // without "=", mlx5_1 would match mlx5_10 too
}

Decision ucx_net_devices(const NodeFabric& node) {
  return adapters(node, "");
}

// The index that all chosen ports have in common.
std::optional<int> common_index(const std::vector<const PortVerdict*>& ports) {
  const auto first = ports.front()->gid.index;
  const bool same = std::ranges::all_of(
      ports, [&](const PortVerdict* verdict) { return verdict->gid.index == first; });
  return same ? first : std::nullopt;
}

const Gid& gid_of(const NodeFabric& node, const PortVerdict& verdict) {
  const auto& gids = node.port_of(verdict).gids;
  return *std::ranges::find(gids, verdict.gid.index.value_or(0), &Gid::index);
}

// Whether NCCL's search with these settings finds the right entry of every chosen port.
bool finds_all(const NodeFabric& node, const std::vector<const PortVerdict*>& ports,
               const GidSearch& search) {
  return std::ranges::all_of(ports, [&](const PortVerdict* verdict) {
    return nccl_gid_index(node.port_of(*verdict).gids, search) == verdict->gid.index;
  });
}

// The narrowest range that contains the addresses of all chosen entries.
GidRange common_range(const NodeFabric& node, const std::vector<const PortVerdict*>& ports) {
  GidRange range{gid_of(node, *ports.front()).bytes, gid_bits};
  for (const PortVerdict* verdict : ports) {
    while (range.bits > 0 && !range.contains(gid_of(node, *verdict).bytes)) --range.bits;
  }
  for (int bit = range.bits; bit < gid_bits; ++bit) {
    range.prefix[static_cast<std::size_t>(bit / 8)] &=
        static_cast<std::uint8_t>(~(0x80u >> (bit % 8)));
  }
  return range;
}

// Settings that make NCCL's search find the right entries, if it would find others without them.
struct GidRemedy {
  std::optional<int> index;
  bool ipv6 = false;
  std::optional<GidRange> range;
  std::string reason;      // why a setting is needed
  std::string impossible;  // why no setting helps
};

// The kernel keeps the first entries for the adapter's own interface, and shows them as empty where
// that is in another network namespace. libibverbs gives NCCL their addresses all the same, and
// the kernel does not tell it their types (NVIDIA/nccl, issue 1573).
bool hides_entries(const Port& port) {
  return !port.gids.empty() && port.gids.front().index > 0;
}

std::string why_index_is_needed(const NodeFabric& node,
                                const std::vector<const PortVerdict*>& ports) {
  if (node.nccl && *node.nccl < first_that_searches) {
    return fmt::format("NCCL {} uses entry 0 and does not search for the right entry",
                       text_of(*node.nccl));
  }
  if (node.nccl && *node.nccl >= first_that_bears_hidden_types) return {};
  for (const PortVerdict* verdict : ports) {
    const Port& port = node.port_of(*verdict);
    const std::string& name = node.devices[verdict->device].name;
    if (port.has_hidden_types) {
      return fmt::format(
          "{}'s table has entries whose type cannot be read, at which NCCL 2.21 to 2.25 fails",
          name);
    }
    if (hides_entries(port)) {
      return fmt::format(
          "{}'s table has entries of other containers, at which NCCL 2.21 to 2.25 fails", name);
    }
  }
  return {};
}

std::string why_search_is_wrong(const NodeFabric& node,
                                const std::vector<const PortVerdict*>& ports) {
  for (const PortVerdict* verdict : ports) {
    if (!verdict->gid.nccl_wrong.empty()) {
      return fmt::format("NCCL would take {}'s {}", node.devices[verdict->device].name,
                         verdict->gid.nccl_wrong);
    }
  }
  return {};
}

GidRemedy remedy_for(const NodeFabric& node, const std::vector<const PortVerdict*>& ports) {
  GidRemedy remedy;
  remedy.index = common_index(ports);
  remedy.reason = why_index_is_needed(node, ports);
  if (!remedy.reason.empty()) {
    if (!remedy.index) remedy.impossible = "the adapters need different entries: use a newer NCCL";
    return remedy;
  }
  remedy.reason = why_search_is_wrong(node, ports);
  if (remedy.reason.empty()) return {};
  // NCCL takes an IPv4 entry in a search for IPv6 only where there is no other.
  const bool all_ipv6 = std::ranges::none_of(
      ports, [&](const PortVerdict* verdict) { return is_ipv4(gid_of(node, *verdict).bytes); });
  if (all_ipv6 && finds_all(node, ports, {.ipv6 = true})) {
    remedy.index = std::nullopt;
    remedy.ipv6 = true;
    return remedy;
  }
  if (remedy.index) return remedy;
  const GidRange range = common_range(node, ports);
  const bool ipv6 = !is_ipv4(range.prefix);
  const bool is_of_one_kind = ipv6 ? all_ipv6 : range.bits > ipv4_mapped_bits;
  if (is_of_one_kind && finds_all(node, ports, {ipv6, range})) {
    remedy.ipv6 = ipv6;
    remedy.range = range;
    return remedy;
  }
  remedy.impossible = "the adapters need different entries, and no range of addresses holds them";
  return remedy;
}

bool is_roce(const NodeFabric& node) {
  return node.choice.layer == LinkLayer::ethernet;
}

Decision gid_index(const NodeFabric& node) {
  if (!node.choice.uses_rdma()) return leave("no RDMA port is used");
  if (!is_roce(node)) return leave("InfiniBand needs none");
  const auto ports = chosen(node);
  const GidRemedy remedy = remedy_for(node, ports);
  if (!remedy.impossible.empty()) return leave(remedy.reason + "; " + remedy.impossible);
  if (remedy.range) return leave("NCCL_IB_ADDR_RANGE leads NCCL to the right entries");
  if (remedy.ipv6) return leave("NCCL_IB_ADDR_FAMILY leads NCCL to the right entries");
  if (!remedy.reason.empty()) return {fmt::format("{}", *remedy.index), remedy.reason};
  const auto index = common_index(ports);
  return leave(index ? fmt::format("NCCL from 2.21 on finds entry {} itself", *index)
                     : "NCCL from 2.21 on finds each adapter's entry itself; the entries differ");
}

Decision address_family(const NodeFabric& node) {
  if (!is_roce(node)) return {};
  const GidRemedy remedy = remedy_for(node, chosen(node));
  if (!remedy.ipv6) return {};
  return {"AF_INET6", remedy.reason};
}

Decision address_range(const NodeFabric& node) {
  if (!is_roce(node)) return {};
  const GidRemedy remedy = remedy_for(node, chosen(node));
  if (!remedy.range) return {};
  return {remedy.range->text(), remedy.reason};
}

// The interfaces that NCCL would choose from: those that begin with "ib", else all but docker*, lo
// and virbr*.
std::vector<std::string> nccl_candidates(const NodeFabric& node) {
  std::vector<std::string> infiniband, others;
  for (const Interface& interface : node.interfaces) {
    if (!interface.is_up || !interface.master.empty()) continue;
    const std::string& name = interface.name;
    if (name.starts_with("ib")) infiniband.push_back(name);
    const bool avoided = name.starts_with("docker") || name == "lo" || name.starts_with("virbr");
    if (!avoided) others.push_back(name);
  }
  return infiniband.empty() ? others : infiniband;
}

std::string shortened(std::vector<std::string> names) {
  constexpr std::size_t shown = 4;
  const std::size_t more = names.size() - std::min(names.size(), shown);
  names.resize(names.size() - more);
  return join(names, ", ") + (more == 0 ? "" : fmt::format(" and {} more", more));
}

constexpr std::string_view unknown_route =
    "the route to the other nodes is not known: name one with `toprun net env --to HOST`";

Decision socket_interface(const NodeFabric& node) {
  if (node.route.interface.empty()) return leave(std::string(unknown_route));
  if (node.route.interface == "lo") return leave("the root is on this host");
  const auto candidates = nccl_candidates(node);
  if (candidates.size() == 1 && candidates.front() == node.route.interface) {
    return leave(
        fmt::format("NCCL itself chooses {}: there is no other interface", node.route.interface));
  }
  return {"=" + node.route.interface,
          fmt::format("{}; NCCL would choose among {}", node.route.reason, shortened(candidates))};
}

Decision gloo_interface(const NodeFabric& node) {
  if (!node.own_name_leads_astray) {
    return leave("the host's name resolves to one of its addresses, and Gloo uses this address");
  }
  if (node.route.interface.empty()) return leave(std::string(unknown_route));
  if (node.route.interface == "lo") return leave("the route leads to this host itself");
  return {node.route.interface, "the host's name resolves to none of its addresses on a network"};
}

// The speed of the route's interface; for a bond, of its members together.
std::int64_t link_mbps(const NodeFabric& node) {
  const Interface* const interface = find(node.interfaces, node.route.interface);
  return interface == nullptr ? 0 : interface->speed_mbps;
}

Decision sockets(const NodeFabric& node, int count) {
  if (node.choice.uses_rdma()) return leave("the traffic goes over RDMA");
  const std::int64_t mbps = link_mbps(node);
  if (mbps == 0) return leave("the speed of the link is not known");
  const double gbps = static_cast<double>(mbps) / 1000;
  if (mbps < fast_link_mbps) return leave(fmt::format("one socket is enough for {:g} Gb/s", gbps));
  return {fmt::format("{}", count), fmt::format("one socket is not enough for {:g} Gb/s", gbps)};
}

Decision socket_thread_count(const NodeFabric& node) {
  return sockets(node, socket_threads);
}

Decision sockets_of_a_thread(const NodeFabric& node) {
  return sockets(node, sockets_per_thread);
}

// The reason why a profile's entry is wrong on this node; empty if it is right or unknown.
std::string wrong_index(const NodeFabric& node, std::string_view value) {
  if (!is_roce(node)) return {};
  const auto index = parse_int(value);
  for (const PortVerdict* verdict : chosen(node)) {
    if (index == verdict->gid.index) continue;
    return fmt::format("{} needs entry {}", node.devices[verdict->device].name,
                       verdict->gid.index.value_or(0));
  }
  return {};
}

struct Rule {
  std::string_view name;
  Decision (*decide)(const NodeFabric&);
  std::string (*what_is_wrong)(const NodeFabric&, std::string_view value) = nullptr;
  bool is_rare = false;  // if left unset, not reported
};

// The first four rules are for variables that recipes for RoCE clusters set by hand.
constexpr std::array rules = {
    Rule{"NCCL_IB_GID_INDEX", gid_index, wrong_index},
    Rule{"NCCL_IB_HCA", ib_hca},
    Rule{"NCCL_SOCKET_NTHREADS", socket_thread_count},
    Rule{"NCCL_NSOCKS_PERTHREAD", sockets_of_a_thread},
    Rule{"NCCL_SOCKET_IFNAME", socket_interface},
    Rule{"NCCL_IB_ADDR_FAMILY", address_family, nullptr, true},
    Rule{"NCCL_IB_ADDR_RANGE", address_range, nullptr, true},
    Rule{"GLOO_SOCKET_IFNAME", gloo_interface},
    Rule{"UCX_NET_DEVICES", ucx_net_devices},
};

const ProfileSetting* setting_of_profile(const NodeFabric& node, std::string_view name) {
  const auto found = std::ranges::find(node.profile_settings, name, &ProfileSetting::name);
  return found == node.profile_settings.end() ? nullptr : &*found;
}

// The setting of the user or an nccl.conf, which toprun never changes.
std::optional<Setting> own_setting(const NodeFabric& node, const std::string& name) {
  if (const auto value = node.environment.get(name)) {
    return Setting{name, value, SettingSource::user, "set by you"};
  }
  const auto of_file = std::ranges::find(node.nccl_conf, name, &FileSetting::name);
  if (of_file == node.nccl_conf.end()) return std::nullopt;
  return Setting{name, of_file->value, SettingSource::file, of_file->file};
}

Setting setting_of(const NodeFabric& node, const Rule& rule) {
  const std::string name(rule.name);
  if (auto own = own_setting(node, name)) return *std::move(own);
  Decision decision = rule.decide(node);
  if (const auto* const of_profile = setting_of_profile(node, name)) {
    const std::string wrong =
        rule.what_is_wrong ? rule.what_is_wrong(node, of_profile->value) : std::string();
    if (wrong.empty()) {
      return {name, of_profile->value, SettingSource::profile, std::string(node.profile->name)};
    }
    decision.reason +=
        fmt::format("; {} says {}, but {}", node.profile->name, of_profile->value, wrong);
  }
  const auto source = decision.value ? SettingSource::rule : SettingSource::unset;
  return {name, std::move(decision.value), source, std::move(decision.reason)};
}

// Puts the folder before the existing search path.
std::string joined_path(const NodeFabric& node, const std::string& name, std::string_view folder) {
  const auto before = node.environment.non_empty(name);
  return before ? fmt::format("{}:{}", folder, *before) : std::string(folder);
}

void add_profile(const NodeFabric& node, std::vector<Setting>& settings) {
  for (const ProfileSetting& of_profile : node.profile_settings) {
    if (std::ranges::find(settings, of_profile.name, &Setting::name) != settings.end()) continue;
    const bool is_path = of_profile.value.starts_with('+');
    auto own = is_path ? std::nullopt : own_setting(node, of_profile.name);
    if (own) {
      settings.push_back(*std::move(own));
      continue;
    }
    settings.push_back(
        {of_profile.name,
         is_path ? joined_path(node, of_profile.name, std::string_view(of_profile.value).substr(1))
                 : of_profile.value,
         SettingSource::profile, std::string(node.profile->name)});
  }
}

}  // namespace

std::optional<NcclVersion> parse_nccl_version(std::string_view text) {
  const auto parts = split(text.substr(0, text.find_first_of("+- ")), '.');
  if (parts.size() < 2 || parts.size() > 4) return std::nullopt;
  std::array<int, 3> numbers{};
  for (std::size_t i = 0; i < std::min(parts.size(), numbers.size()); ++i) {
    const auto number = parse_int(parts[i]);
    if (!number || *number < 0 || *number > 9999) return std::nullopt;
    numbers[i] = static_cast<int>(*number);
  }
  return NcclVersion{numbers[0], numbers[1], numbers[2]};
}

std::string text_of(const NcclVersion& version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

std::string_view name_of(SettingSource source) {
  return source_names[static_cast<std::size_t>(source)];
}

std::vector<Setting> decide(const NodeFabric& node) {
  std::vector<Setting> settings;
  for (const Rule& rule : rules) {
    Setting setting = setting_of(node, rule);
    if (setting.value || !rule.is_rare) settings.push_back(std::move(setting));
  }
  add_profile(node, settings);
  return settings;
}

bool is_ours(const Setting& setting) {
  return setting.source == SettingSource::rule || setting.source == SettingSource::profile;
}

}  // namespace toprun::fabric
