#include "decide/topology/fabric.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/net/hostlist.h"
#include "base/text/sets.h"
#include "base/text/text.h"
#include "decide/topology/dragonfly.h"
#include "decide/topology/position.h"

namespace toprun::topology {
namespace {

using Index = std::size_t;

struct Host {
  std::string_view name;
  std::vector<const FabricPort*> ports;  // in natural order of the adapters' names
  std::vector<Index> leaves;             // distinct, ascending
};

// The hosts of the fabric.
class Hosts {
 public:
  explicit Hosts(const std::vector<FabricPort>& ports) {
    std::unordered_map<std::string_view, Index> by_name;
    for (const FabricPort& port : ports) {
      const auto [found, is_new] = by_name.emplace(port.host, hosts_.size());
      if (is_new) hosts_.push_back({port.host, {}, {}});
      hosts_[found->second].ports.push_back(&port);
    }
    for (Host& host : hosts_) arrange(host);
    std::erase_if(hosts_, [&](const Host& host) { return several_machines(host); });
  }

  const std::vector<Host>& all() const { return hosts_; }
  const Tally& shared_names() const { return shared_names_; }

 private:
  static void arrange(Host& host) {
    std::ranges::sort(host.ports, [](const FabricPort* a, const FabricPort* b) {
      if (a->hca != b->hca) return natural_less(a->hca, b->hca);
      return std::pair(a->guid, a->port) < std::pair(b->guid, b->port);
    });
    for (const FabricPort* port : host.ports) host.leaves.push_back(port->leaf);
    sort_distinct(host.leaves);
  }

  // Whether more than one machine has this name. This happens with machines that never received a
  // name ("localhost").
  bool several_machines(const Host& host) {
    for (std::size_t i = 1; i < host.ports.size(); ++i) {
      const FabricPort& a = *host.ports[i - 1];
      const FabricPort& b = *host.ports[i];
      if (a.hca != b.hca || (a.guid == b.guid && a.port != b.port)) continue;
      shared_names_.add([&] {
        return fmt::format("{} and {} both contain {} {}: several machines have this name",
                           a.evidence, b.evidence, host.name, a.hca);
      });
      return true;
    }
    if (host.ports.size() <= max_rails) return false;
    shared_names_.add([&] {
      return fmt::format(
          "{}: {} has {} ports, more than a machine's {}: several machines have this name",
          host.ports[0]->evidence, host.name, host.ports.size(), max_rails);
    });
    return true;
  }

  std::vector<Host> hosts_;
  Tally shared_names_;
};

// Finds the groups of leaves.
class LeafGroups {
 public:
  LeafGroups(const std::vector<Host>& hosts, Index switches)
      : hosts_on_(switches),
        members_(switches),
        names_on_(switches),
        near_(switches),
        spans_(switches),
        sets_(switches) {
    for (const Host& host : hosts) count(host);
    for (auto& names : names_on_) sort_distinct(names);
    for (const auto& [pair, shared] : shared_) {
      const auto [a, b] = pair;
      if (!are_near(a, b, shared)) continue;
      near_[a].push_back(b);
      near_[b].push_back(a);
    }
    for (Index leaf = 0; leaf < switches; ++leaf) spans_[leaf] = spans_groups(leaf);
    for (Index leaf = 0; leaf < switches; ++leaf) {
      for (const Index other : near_[leaf]) {
        if (!spans_[leaf] && !spans_[other]) sets_.join(leaf, other);
      }
    }
  }

  bool is_leaf(Index i) const { return hosts_on_[i] > 0; }
  bool spans(Index leaf) const { return spans_[leaf]; }
  Index group(Index leaf) { return sets_.find(leaf); }
  const DisjointSets& sets() const { return sets_; }

  // A leaf of the group with most of the host's rails; if several groups have equally many, the
  // group of the first rail. Sets `groups` to the number of groups with rails of the host.
  Index home(const Host& host, std::size_t& groups) {
    const bool only_spanning = std::ranges::all_of(host.leaves, [&](Index l) { return spans_[l]; });
    // a leaf of each group, number of rails in the group
    std::vector<std::pair<Index, std::size_t>> votes;
    for (const FabricPort* port : host.ports) {
      if (spans_[port->leaf] && !only_spanning) continue;
      const auto same = [&](const auto& vote) { return group(vote.first) == group(port->leaf); };
      const auto found = std::ranges::find_if(votes, same);
      if (found == votes.end()) {
        votes.emplace_back(port->leaf, 1);
      } else {
        ++found->second;
      }
    }
    groups = votes.size();
    return std::ranges::max_element(votes, {}, &std::pair<Index, std::size_t>::second)->first;
  }

 private:
  using Pair = std::pair<Index, Index>;  // the smaller index first
  struct Hash {
    std::size_t operator()(const Pair& pair) const {
      return std::hash<std::uint64_t>{}((static_cast<std::uint64_t>(pair.first) << 32) ^
                                        pair.second);
    }
  };

  void count(const Host& host) {
    for (const FabricPort* port : host.ports) names_on_[port->leaf].push_back(port->hca);
    for (const Index leaf : host.leaves) members_[leaf].push_back(&host);
    for (std::size_t i = 0; i < host.leaves.size(); ++i) {
      ++hosts_on_[host.leaves[i]];
      for (std::size_t k = i + 1; k < host.leaves.size(); ++k) {
        ++shared_[{host.leaves[i], host.leaves[k]}];
      }
    }
  }

  // Whether two leaves carry rails of the same hosts. A management host or router with a port on
  // each of two leaves does not make the leaves near each other: in that case each leaf has at
  // least as many other hosts with the same rail.
  bool are_near(Index a, Index b, std::size_t shared) const {
    const std::size_t least = std::min(hosts_on_[a], hosts_on_[b]);
    if (2 * shared < least) return false;
    if (shared == hosts_on_[a] || shared == hosts_on_[b]) return true;
    const RailCounts on_a = rails_of_others(a, b);
    const RailCounts on_b = rails_of_others(b, a);
    return std::ranges::none_of(on_a, [&](const auto& rail) {
      const auto other = on_b.find(rail.first);
      return other != on_b.end() && std::min(rail.second, other->second) >= shared;
    });
  }

  // Counts the rails of the hosts that are on `leaf` but not on `other`.
  using RailCounts = std::unordered_map<std::string_view, std::size_t>;
  RailCounts rails_of_others(Index leaf, Index other) const {
    RailCounts counts;
    for (const Host* host : members_[leaf]) {
      if (std::ranges::binary_search(host->leaves, other)) continue;
      for (const FabricPort* port : host->ports) {
        if (port->leaf == leaf) ++counts[port->hca];
      }
    }
    return counts;
  }

  // Whether two of the leaves near this one carry the same rail of separate sets of hosts. Stops at
  // the first such pair of leaves; `shared_` counts the hosts of all pairs.
  bool spans_groups(Index leaf) const {
    std::unordered_map<std::string_view, std::vector<Index>> by_rail;
    for (const Index other : near_[leaf]) {
      for (const std::string_view name : names_on_[other]) {
        std::vector<Index>& same_rail = by_rail[name];
        for (const Index earlier : same_rail) {
          if (!shared_.contains(std::minmax(earlier, other))) return true;
        }
        same_rail.push_back(other);
      }
    }
    return false;
  }

  std::vector<std::size_t> hosts_on_;
  std::vector<std::vector<const Host*>> members_;        // the same hosts
  std::vector<std::vector<std::string_view>> names_on_;  // names of the adapters
  std::unordered_map<Pair, std::size_t, Hash> shared_;   // number of hosts on both
  std::vector<std::vector<Index>> near_;
  std::vector<char> spans_;
  DisjointSets sets_;
};

// Finds the levels above the groups.
class Levels {
 public:
  Levels(const std::vector<FabricSwitch>& switches, LeafGroups& groups)
      : switches_(switches),
        groups_(groups),
        sets_(groups.sets()),
        distance_(switches.size()),
        dragonfly_(dragonfly_groups(switches)) {}

  Result<void> find(const std::string& source) {
    measure_distances();
    const std::vector<Cable> cables = list_cables();
    record(1, cables);
    for (auto at = cables.begin(); at != cables.end();) {
      const std::size_t level = at->level;
      bool joined = false;
      for (; at != cables.end() && at->level == level; ++at) joined = join(at->a, at->b) || joined;
      if (joined) record(level, cables);
    }
    if (domains_.size() <= max_levels) return {};
    return usage(source, fmt::format("the network has more than {} levels of switches", max_levels),
                 "describe the network in a file with a line HOST /cluster/rack/HOST per host");
  }

  // Outermost first.
  std::vector<std::string> names() const {
    std::vector<std::string> names = switch_level_names(domains_.size());
    constexpr std::array<std::string_view, 3> dragonfly = {"leaf", "group", "fabric"};
    if (dragonfly_.empty() || names.size() > dragonfly.size()) return names;
    for (std::size_t i = 0; i < names.size(); ++i) names[names.size() - 1 - i] = dragonfly[i];
    return names;
  }

  // Outermost first.
  Path path(Index leaf) const {
    Path path;
    for (auto level = domains_.rbegin(); level != domains_.rend(); ++level) {
      path.push_back(level->at(leaf));
    }
    return path;
  }

  // As Map::domain_gbps.
  std::map<std::string, std::map<std::string, double>> domain_gbps() const {
    const std::vector<std::string> names = this->names();
    std::map<std::string, std::map<std::string, double>> gbps;
    for (std::size_t i = 0; i < uplinks_.size(); ++i) {
      if (!uplinks_[i].empty()) gbps[names[names.size() - 1 - i]] = uplinks_[i];
    }
    return gbps;
  }

  // The domains of the outermost level.
  std::vector<std::string> top() const {
    std::vector<std::string> names;
    for (const auto& [leaf, name] : domains_.back()) names.push_back(name);
    std::ranges::sort(names, natural_less);
    const auto repeated = std::ranges::unique(names);
    names.erase(repeated.begin(), repeated.end());
    return names;
  }

 private:
  struct Cable {
    std::size_t level;  // the level at which it joins its ends
    Index a, b;
    double gbps;  // 0: unknown
  };

  void measure_distances() {
    std::vector<Index> queue;
    std::vector<std::vector<Index>> peers(switches_.size());
    for (Index i = 0; i < switches_.size(); ++i) {
      for (const Index peer : switches_[i].peers) {
        peers[i].push_back(peer);
        peers[peer].push_back(i);
      }
      if (!groups_.is_leaf(i)) continue;
      distance_[i] = 1;
      has_hosts_.insert(sets_.find(i));
      queue.push_back(i);
    }
    for (std::size_t done = 0; done < queue.size(); ++done) {
      for (const Index peer : peers[queue[done]]) {
        if (distance_[peer] > 0) continue;
        distance_[peer] = distance_[queue[done]] + 1;
        queue.push_back(peer);
      }
    }
  }

  // A cable between switches of one level joins them at the next level.
  std::vector<Cable> list_cables() const {
    std::vector<Cable> cables;
    for (Index i = 0; i < switches_.size(); ++i) {
      for (std::size_t k = 0; k < switches_[i].peers.size(); ++k) {
        const Index peer = switches_[i].peers[k];
        const std::size_t a = distance_[i];
        const std::size_t b = distance_[peer];
        if (a == 0 || b == 0 || i == peer) continue;
        const double gbps = k < switches_[i].gbps.size() ? switches_[i].gbps[k] : 0;
        cables.push_back({level_of(i, peer), i, peer, gbps});
      }
    }
    std::ranges::stable_sort(cables, {}, &Cable::level);
    return cables;
  }

  // In a dragonfly all switches have the same distance, so their groups decide a cable's level.
  std::size_t level_of(Index a, Index b) const {
    constexpr std::size_t group_level = 2;
    if (!dragonfly_.empty()) {
      const bool inside = dragonfly_[a] != no_group && dragonfly_[a] == dragonfly_[b];
      return inside ? group_level : group_level + 1;
    }
    return distance_[a] == distance_[b] ? distance_[a] + 1 : std::max(distance_[a], distance_[b]);
  }

  // Returns true if it joined two parts that both have hosts.
  bool join(Index a, Index b) {
    a = sets_.find(a);
    b = sets_.find(b);
    if (a == b) return false;
    const bool hosts_a = has_hosts_.contains(a);
    const bool hosts_b = has_hosts_.contains(b);
    sets_.join(a, b);
    if (hosts_a || hosts_b) has_hosts_.insert(sets_.find(a));
    return hosts_a && hosts_b;
  }

  // Records the current domain of each leaf. The outermost switches of a domain form its name.
  void record(std::size_t level, const std::vector<Cable>& cables) {
    const std::unordered_map<Index, double> gbps = uplinks(cables);
    std::map<std::string, double>& by_name = uplinks_.emplace_back();
    std::unordered_map<Index, std::vector<Index>> members;
    for (Index i = 0; i < switches_.size(); ++i) {
      if (distance_[i] > 0 && distance_[i] <= level) members[sets_.find(i)].push_back(i);
    }
    auto& domain_of = domains_.emplace_back();
    for (const auto& [root, domain] : members) {
      const std::string name = name_of(domain);
      if (const auto known = gbps.find(root); known != gbps.end() && has_hosts_.contains(root)) {
        const auto [entry, is_new] = by_name.try_emplace(name, known->second);
        entry->second = std::min(entry->second, known->second);  // two shortened names may be equal
      }
      for (const Index i : domain) {
        if (distance_[i] == 1) domain_of.emplace(i, name);
      }
    }
  }

  // The bandwidth out of the current sets of switches; 0: a cable's speed is unknown.
  std::unordered_map<Index, double> uplinks(const std::vector<Cable>& cables) {
    std::unordered_map<Index, double> sums;
    std::unordered_set<Index> unknown;
    for (const Cable& cable : cables) {
      const Index a = sets_.find(cable.a);
      const Index b = sets_.find(cable.b);
      if (a == b) continue;
      for (const Index end : {a, b}) {
        sums[end] += cable.gbps;
        if (cable.gbps <= 0) unknown.insert(end);
      }
    }
    for (const Index set : unknown) sums[set] = 0;
    return sums;
  }

  std::string name_of(const std::vector<Index>& domain) const {
    std::size_t outermost = 0;
    for (const Index i : domain) outermost = std::max(outermost, distance_[i]);
    std::vector<std::string> names;
    for (const Index i : domain) {
      if (distance_[i] == outermost) names.push_back(switches_[i].name);
    }
    std::ranges::sort(names, natural_less);
    return set_name(names);
  }

  const std::vector<FabricSwitch>& switches_;
  LeafGroups& groups_;
  DisjointSets sets_;
  std::vector<std::size_t> distance_;    // to the nearest host; 0: no connection to any
  std::vector<std::size_t> dragonfly_;   // the switches' groups; empty: not a dragonfly
  std::unordered_set<Index> has_hosts_;  // roots of the sets with hosts
  std::vector<std::unordered_map<Index, std::string>> domains_;  // innermost first, by leaf
  std::vector<std::map<std::string, double>> uplinks_;           // of the same levels, by domain
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The length of the common prefix of all names, without a number that differs between them.
std::size_t common_prefix(std::span<const std::string> names) {
  std::size_t length = names[0].size();
  for (const std::string& name : names) {
    length = std::min(length, static_cast<std::size_t>(std::ranges::mismatch(names[0], name).in1 -
                                                       names[0].begin()));
  }
  while (length > 0 && is_digit(names[0][length - 1])) --length;
  return length;
}

std::size_t common_suffix(std::span<const std::string> names, std::size_t prefix) {
  const auto character = [](const std::string& name, std::size_t from_end) {
    return name[name.size() - from_end];
  };
  std::size_t length = 0;
  const auto shared = [&](const std::string& name) {
    return name.size() > prefix + length &&
           character(name, length + 1) == character(names[0], length + 1);
  };
  while (std::ranges::all_of(names, shared)) ++length;
  while (length > 0 && is_digit(character(names[0], length))) --length;
  return length;
}

void add_hosts(const std::vector<Host>& hosts, const std::vector<FabricSwitch>& switches,
               LeafGroups& groups, const Levels& levels, MapBuilder& builder,
               std::vector<std::vector<Rail>>& rails) {
  Tally scattered;
  for (const Host& host : hosts) {
    std::size_t groups_of_host = 0;
    const Index home = groups.home(host, groups_of_host);
    const std::string& evidence = host.ports[0]->evidence;
    Path path = levels.path(home);
    if (groups_of_host > 1) {
      scattered.add([&] {
        return fmt::format(
            "{}: the rails of {} end in {} groups of leaves, so it is counted as one of {}'s hosts",
            evidence, host.name, groups_of_host, *path.back());
      });
    }
    // Each host is in `hosts` only once, so this cannot fail.
    (void)builder.add(std::string(host.name), {std::move(path), evidence, {}}, evidence);
    std::vector<Rail>& own = rails.emplace_back();
    for (const FabricPort* port : host.ports) {
      own.push_back({port->hca, port->port, switches[port->leaf].name, port->speed});
    }
  }
  builder.warn(scattered, "hosts");
}

void warn_of_spanning_leaves(const std::string& source, const std::vector<FabricSwitch>& switches,
                             const LeafGroups& groups, MapBuilder& builder) {
  std::vector<std::string> names;
  for (Index i = 0; i < switches.size(); ++i) {
    if (groups.is_leaf(i) && groups.spans(i)) names.push_back(switches[i].name);
  }
  if (names.empty()) return;
  std::ranges::sort(names, natural_less);
  builder.warn(
      fmt::format("{}: {} connects hosts that are apart on another rail, as switches for storage "
                  "do, so toprun does not count these hosts as neighbours",
                  source, set_name(names)));
}

void warn_of_islands(const std::string& source, const Levels& levels, MapBuilder& builder) {
  const std::vector<std::string> islands = levels.top();
  if (islands.size() < 2) return;
  constexpr std::size_t shown = 3;
  std::string names =
      fmt::format("{}", fmt::join(std::span(islands).first(std::min(shown, islands.size())), ", "));
  if (islands.size() > shown) names += ", …";
  builder.warn(fmt::format("{}: the fabric has {} parts without a cable between them: {}", source,
                           islands.size(), names));
}

}  // namespace

std::string set_name(const std::vector<std::string>& names) {
  if (names.size() == 1) return names[0];
  const std::size_t prefix = common_prefix(names);
  const std::size_t suffix = common_suffix(names, prefix);
  std::vector<std::string> numbers;
  for (const std::string& name : names) {
    numbers.push_back(name.substr(prefix, name.size() - prefix - suffix));
  }
  const bool numbered = std::ranges::all_of(numbers, [](const std::string& number) {
    return !number.empty() && std::ranges::all_of(number, is_digit);
  });
  const std::string text = numbered
                               ? names[0].substr(0, prefix) + hosts::compress_hostlist(numbers) +
                                     names[0].substr(names[0].size() - suffix)
                               : hosts::compress_hostlist(names);
  if (text.size() <= max_domain_name_bytes) return text;
  return fmt::format("{}+{}", names[0], names.size() - 1);
}

Result<Fabric> map_of_fabric(const std::string& source, const std::vector<FabricSwitch>& switches,
                             const std::vector<FabricPort>& ports) {
  const Hosts hosts(ports);
  MapBuilder builder(source);
  builder.warn(hosts.shared_names(), "names");
  if (hosts.all().empty()) {
    return usage(source, "no host is connected to a switch",
                 hosts.shared_names().count > 0 ? hosts.shared_names().text("names")
                                                : "is the dump complete?");
  }
  LeafGroups groups(hosts.all(), switches.size());
  Levels levels(switches, groups);
  TRY(levels.find(source));
  Fabric fabric;
  add_hosts(hosts.all(), switches, groups, levels, builder, fabric.rails);
  warn_of_spanning_leaves(source, switches, groups, builder);
  warn_of_islands(source, levels, builder);
  fabric.map = builder.finish(levels.names());
  fabric.map.domain_gbps = levels.domain_gbps();
  set_links_of_domains(fabric.map);
  return fabric;
}

}  // namespace toprun::topology
