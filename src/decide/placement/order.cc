#include "decide/placement/order.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "base/net/hostlist.h"
#include "base/text/name_index.h"
#include "base/text/text.h"
#include "decide/cost/domains.h"
#include "decide/placement/groups.h"
#include "decide/placement/segments.h"
#include "decide/topology/match.h"
#include "decide/topology/position.h"

namespace toprun::placement {
namespace {

using Indexes = std::vector<std::size_t>;

constexpr std::size_t no_entry = std::numeric_limits<std::size_t>::max();

// The index of each host's map entry; `no_entry` if there is none or all its levels are unknown.
using Entries = std::vector<std::size_t>;

Entries look_up(const std::vector<Host>& hosts, const topology::Map& map) {
  const auto name_at = [&](std::size_t i) -> std::string_view { return map.hosts[i].host; };
  std::optional<NameIndex> by_name;
  const auto find = [&](const std::string& name) {
    if (!by_name) {
      by_name.emplace().expect(map.hosts.size());
      for (std::size_t i = 0; i < map.hosts.size(); ++i) by_name->add(name_at(i), i, name_at);
    }
    return by_name->find(name, name_at).value_or(no_entry);
  };
  Entries entries;
  entries.reserve(hosts.size());
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    // A located map has the hosts in their own order, unless a host is missing or occurs twice.
    const bool aligned = i < map.hosts.size() && map.hosts[i].host == hosts[i].name;
    const std::size_t entry = aligned ? i : find(hosts[i].name);
    const bool placed = entry != no_entry && map.hosts[entry].location.path.known();
    entries.push_back(placed ? entry : no_entry);
  }
  return entries;
}

cost::Domains domains_of(const Entries& entries, const topology::Map& map) {
  const topology::Path unknown(map.levels.size());
  std::vector<const topology::Path*> paths;
  paths.reserve(entries.size());
  for (const std::size_t entry : entries) {
    paths.push_back(entry == no_entry ? &unknown : &map.hosts[entry].location.path);
  }
  return {paths, map.levels.size()};
}

Indexes as_given(std::size_t count) {
  Indexes order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

Indexes by_name(const std::vector<Host>& hosts) {
  Indexes order = as_given(hosts.size());
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return natural_less(hosts[a].name, hosts[b].name);
  });
  return order;
}

Indexes by_text(const std::vector<Host>& hosts) {
  Indexes order = as_given(hosts.size());
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return hosts[a].name < hosts[b].name; });
  return order;
}

// Sorts by the innermost domain, whose place follows those of all domains around it. Inside it
// nodes stay as given; nodes without a place come last. Places are numbers below the number of
// nodes.
Indexes by_place(const Entries& entries, const cost::Domains& domains) {
  const std::size_t innermost = domains.levels() - 1;
  const std::size_t last = entries.size();
  const auto place_of = [&](std::size_t i) {
    return entries[i] == no_entry ? last : std::size_t{domains.place(i, innermost)};
  };
  std::vector<std::size_t> begins(last + 2);
  for (std::size_t i = 0; i < entries.size(); ++i) ++begins[place_of(i) + 1];
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  Indexes order(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) order[begins[place_of(i)]++] = i;
  return order;
}

Indexes by_topology(const std::vector<Host>& hosts, const topology::Map& map,
                    const Entries& entries, const cost::Domains& domains) {
  if (domains.levels() == 0) return as_given(hosts.size());
  Indexes order = by_place(entries, domains);
  const auto unplaced =
      std::ranges::find_if(order, [&](std::size_t i) { return entries[i] == no_entry; });

  // Sorts inside each domain, because comparing names is the main cost, and a rack has few names.
  const std::size_t innermost = domains.levels() - 1;
  const auto seat = [&](std::size_t i) { return map.hosts[entries[i]].location.path.seat(); };
  const auto by_seat_then_name = [&](std::size_t a, std::size_t b) {
    if (seat(a) != seat(b)) return seat(a) < seat(b);
    if (natural_less(hosts[a].name, hosts[b].name)) return true;
    return a < b && hosts[a].name == hosts[b].name;
  };
  for (auto first = order.begin(); first != unplaced;) {
    const auto last = std::find_if(first, unplaced, [&](std::size_t i) {
      return domains.place(i, innermost) != domains.place(*first, innermost);
    });
    if (!std::is_sorted(first, last, by_seat_then_name)) {
      std::sort(first, last, by_seat_then_name);
    }
    first = last;
  }
  return order;
}

// `sorted` in the order of an earlier list. Hosts with equal names (two agents on one host) take
// the seats of that name one after the other.
Indexes in_earlier_order(const Indexes& sorted, const std::vector<Host>& hosts,
                         const std::vector<std::string>& before, const cost::Domains& domains) {
  std::unordered_multimap<std::string_view, std::size_t> free;
  for (std::size_t seat = before.size(); seat-- > 0;) free.emplace(before[seat], seat);
  std::vector<std::optional<std::size_t>> seats;
  for (const std::size_t i : sorted) {
    const auto found = free.find(hosts[i].name);
    seats.push_back(found == free.end() ? std::nullopt : std::optional(found->second));
    if (found != free.end()) free.erase(found);
  }
  return keep_seats(sorted, seats, domains);
}

// The nodes with a place in segments, then the other nodes.
Indexes segmented(Indexes sorted, const Entries& entries, const cost::Domains& domains,
                  std::size_t size) {
  const auto unplaced =
      std::ranges::find_if(sorted, [&](std::size_t i) { return entries[i] == no_entry; });
  Indexes order = in_segments({sorted.begin(), unplaced}, domains, size);
  order.insert(order.end(), unplaced, sorted.end());
  return order;
}

Indexes by_constraints(const std::vector<Host>& hosts, const topology::Map& map,
                       const Entries& entries, const cost::Domains& domains,
                       const Constraints& constraints) {
  Indexes indexes = by_topology(hosts, map, entries, domains);
  if (constraints.segment > 1) {
    indexes = segmented(std::move(indexes), entries, domains, constraints.segment);
  }
  if (constraints.before.empty()) return indexes;
  return in_earlier_order(indexes, hosts, constraints.before, domains);
}

// Moves the locations out of the map.
Result<void> add_nodes(Placement& placement, const std::vector<Host>& hosts, topology::Map& map,
                       const Entries& entries, const Indexes& order) {
  std::vector<std::size_t> taken_by(map.hosts.size(), no_entry);
  const topology::Path unknown(placement.levels.size());
  std::int64_t rank = 0;
  placement.nodes.reserve(order.size());
  for (const std::size_t i : order) {
    const Host& host = hosts[i];
    if (host.nproc < 0) return fail(fmt::format("host {} has {} processes", host.name, host.nproc));
    const std::size_t entry = entries[i];
    Node node{host.name, i, {}, entry != no_entry, static_cast<int>(rank), host.nproc};
    if (node.placed && taken_by[entry] == no_entry) {
      taken_by[entry] = placement.nodes.size();
      node.location = std::move(map.hosts[entry].location);
    } else if (node.placed) {
      node.location = placement.nodes[taken_by[entry]].location;
    } else {
      node.location.path = unknown;
      placement.unplaced.push_back(host.name);
    }
    placement.nodes.push_back(std::move(node));
    rank += host.nproc;
    if (rank > std::numeric_limits<int>::max()) {
      return usage("too many ranks",
                   fmt::format("there are more than {} ranks", std::numeric_limits<int>::max()));
    }
  }
  return {};
}

void warn_of_unplaced(Placement& placement) {
  if (placement.unplaced.empty() || placement.source.empty()) return;
  placement.warnings.push_back(fmt::format(
      "{} does not know where {} {}: toprun places such nodes last, each in a separate domain",
      placement.source, hosts::compress_hostlist(placement.unplaced),
      placement.unplaced.size() == 1 ? "is" : "are"));
}

// `mixed`: positions in the placement.
void warn_of_mixed(Placement& placement, const std::vector<std::size_t>& mixed,
                   std::size_t segment) {
  if (mixed.empty()) return;
  std::vector<std::string> names;
  for (const std::size_t position : mixed) names.push_back(placement.nodes[position].name);
  placement.warnings.push_back(fmt::format(
      "{} of {} nodes are in segments of {} that no single {} holds: {}", mixed.size(),
      placement.nodes.size(), segment, placement.levels.back(), hosts::compress_hostlist(names)));
}

// `kept`: indexes in ascending order.
void name_spares(Placement& placement, const Indexes& kept, const std::vector<Host>& hosts) {
  auto next = kept.begin();
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (next != kept.end() && *next == i) {
      ++next;
    } else {
      placement.spare.push_back(hosts[i].name);
    }
  }
}

Result<Placement> place_in(const Indexes& order, const std::vector<Host>& hosts, topology::Map map,
                           const Entries& entries, const cost::Domains& domains) {
  Placement placement{map.source, map.levels, {}, {}, {}, {}, std::move(map.warnings)};
  placement.notes = std::move(map.notes);
  TRY(add_nodes(placement, hosts, map, entries, order));
  const Indexes given = as_given(hosts.size());
  for (std::size_t level = 0; level < map.levels.size(); ++level) {
    placement.ring.push_back({map.levels[level], domains.crossings(given, level),
                              domains.crossings(order, level), domains.least_crossings(level)});
  }
  warn_of_unplaced(placement);
  return placement;
}

std::vector<std::string> names_of(const std::vector<Host>& hosts) {
  std::vector<std::string> names;
  for (const Host& host : hosts) names.push_back(host.name);
  return names;
}

// The names in an order file and their positions.
struct Listed {
  std::vector<std::string> names;
  std::vector<std::string> where;
};

// The hosts in a line of a form that `topo order --format` prints: "n0 slots=8" and "rank 0=n0
// slot=0" without the text that is not a host name.
std::string_view hosts_in(std::string_view line) {
  constexpr std::string_view rank = "rank ";
  if (line.starts_with(rank) && line.contains('=')) line.remove_prefix(line.find('=') + 1);
  const std::size_t slots = line.find(" slot");
  return line.substr(0, line.find('=', slots) == line.npos ? line.npos : slots);
}

// Changes ["n0", "n1"] in one line to n0,n1.
std::string without_quotes(std::string_view line) {
  const std::string_view text = trim(line);
  if (!text.starts_with('[') || !text.ends_with(']') || !text.contains('"')) {
    return std::string(line);
  }
  std::string names(text.substr(1, text.size() - 2));
  std::erase_if(names, [](char c) { return c == '"' || c == ' '; });
  return names;
}

Result<Listed> read_list(std::string_view text, const std::string& file) {
  Listed listed;
  std::unordered_map<std::string, std::size_t> first;
  std::size_t line_number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++line_number;
    const std::string_view names = hosts_in(line.substr(0, line.find('#')));
    const auto hosts =
        hosts::parse_hostlist(without_quotes(names), hosts::max_hosts - listed.names.size());
    if (!hosts) {
      const auto before = static_cast<std::size_t>(names.data() - line.data());
      return usage(topology::at(file, {line_number, before + hosts.error().column}),
                   hosts.error().why, hosts.error().fix);
    }
    // One line per rank of a host.
    if (hosts->size() == 1 && !listed.names.empty() && hosts->front() == listed.names.back()) {
      continue;
    }
    for (const std::string& host : *hosts) {
      const std::string where = topology::at_line(file, line_number);
      const auto [earlier, is_new] = first.emplace(host, listed.names.size());
      if (!is_new) {
        return usage(
            where,
            fmt::format("host {} appears twice, first at {}", host, listed.where[earlier->second]),
            "remove one of the two");
      }
      listed.names.push_back(host);
      listed.where.push_back(where);
    }
  }
  return listed;
}

// Places only the needed nodes.
Result<Placement> place_needed(const std::vector<Host>& hosts, topology::Map map,
                               Constraints constraints) {
  const Entries entries = look_up(hosts, map);
  const cost::Domains domains = domains_of(entries, map);
  Indexes kept = without_spares(by_topology(hosts, map, entries, domains), domains,
                                constraints.nodes, constraints.segment, constraints.fixed);
  std::ranges::sort(kept);
  std::vector<Host> needed;
  for (const std::size_t i : kept) needed.push_back(hosts[i]);
  constraints.nodes = 0;
  auto placed = place(needed, std::move(map), constraints);
  if (!placed) return placed;
  for (Node& node : placed->nodes) node.index = kept[node.index];
  name_spares(*placed, kept, hosts);
  return placed;
}

std::vector<int> processes_of(const std::vector<Host>& hosts) {
  std::vector<int> processes;
  for (const Host& host : hosts) processes.push_back(std::max(0, host.nproc));
  return processes;
}

void warn_of_groups(Placement& placement, const Prepared& prepared, const Plan& plan) {
  if (!placement.mapping) {
    placement.warnings.push_back(
        fmt::format("--parallel does not change the order: more than {} pairs of nodes exchange "
                    "data, too many to compute an order",
                    cost::max_pairs));
    return;
  }
  const auto differs = [&](const Node& node) { return node.nproc != placement.nodes[0].nproc; };
  if (std::ranges::any_of(placement.nodes, differs)) {
    placement.warnings.emplace_back(
        "the nodes run different numbers of processes: only nodes with the same number of "
        "processes can swap positions");
  }
  if (!plan.parameters && plan.traffic.empty()) {
    placement.warnings.push_back(
        fmt::format("--parallel: toprun assumed the traffic of a model with {:g}B parameters; set "
                    "the traffic with --model or --traffic",
                    cost::default_parameters / 1e9));
  }
  auto lines = explain_groups(placement, score_groups(placement, prepared));
  std::ranges::move(lines, std::back_inserter(placement.warnings));
}

// Uses the order with the best traffic for the plan. `sorted`: in topology order.
Result<Placement> place_for(const Plan& plan, Indexes sorted, const std::vector<Host>& hosts,
                            topology::Map map, const Entries& entries,
                            const cost::Domains& domains) {
  const std::vector<int> processes = processes_of(hosts);
  const auto prepared = TRY(prepare(plan, map, processes));
  const auto placed = static_cast<std::size_t>(
      std::ranges::count_if(entries, [](std::size_t entry) { return entry != no_entry; }));
  auto mapping = map_nodes(prepared, sorted, placed, domains, processes);
  if (mapping) sorted = std::move(mapping->nodes);
  auto placement = place_in(sorted, hosts, std::move(map), entries, domains);
  if (!placement) return placement;
  placement->mapping = std::move(mapping);
  warn_of_groups(*placement, prepared, plan);
  return placement;
}

}  // namespace

Result<Placement> place(const std::vector<Host>& hosts, topology::Map map,
                        const Constraints& constraints) {
  if (constraints.nodes > hosts.size()) {
    return usage(fmt::format("{} nodes are requested", constraints.nodes),
                 fmt::format("only {} nodes are available", hosts.size()),
                 "request fewer nodes, or list more hosts");
  }
  if (constraints.order == Order::topology && constraints.nodes > 0 &&
      constraints.nodes < hosts.size()) {
    return place_needed(hosts, std::move(map), constraints);
  }
  const Entries entries = look_up(hosts, map);
  const cost::Domains domains = domains_of(entries, map);
  Indexes indexes;
  switch (constraints.order) {
    case Order::topology:
      if (constraints.plan && constraints.segment > 1) {
        return usage("--segment and --parallel", "both decide which nodes are neighbours",
                     "leave one of them out");
      }
      if (constraints.plan && constraints.before.empty()) {
        indexes = by_topology(hosts, map, entries, domains);
        return place_for(*constraints.plan, std::move(indexes), hosts, std::move(map), entries,
                         domains);
      }
      indexes = by_constraints(hosts, map, entries, domains, constraints);
      break;
    case Order::name:
      indexes = by_name(hosts);
      break;
    case Order::torchrun:
      indexes = by_text(hosts);
      break;
    case Order::given:
      indexes = as_given(hosts.size());
      break;
  }
  auto placement = place_in(indexes, hosts, std::move(map), entries, domains);
  if (placement && constraints.order == Order::topology && constraints.segment > 1) {
    warn_of_mixed(*placement, mixed_segments(indexes, domains, constraints.segment),
                  constraints.segment);
  }
  return placement;
}

Result<std::vector<std::string>> read_order(std::string_view text, const std::string& file) {
  auto listed = TRY(read_list(text, file));
  return std::move(listed.names);
}

Result<Placement> place_as_listed(const std::vector<Host>& hosts, topology::Map map,
                                  std::string_view text, const std::string& file) {
  const auto listed = TRY(read_list(text, file));
  const topology::Match match = topology::match_hosts(names_of(hosts), listed.names);
  std::vector<Indexes> hosts_of(listed.names.size());
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (match.known[i]) {
      hosts_of[*match.known[i]].push_back(i);
    } else {
      missing.push_back(hosts[i].name);
    }
  }
  if (!missing.empty()) {
    return usage(fmt::format("{} lacks {} of the job's hosts", file, missing.size()),
                 hosts::compress_hostlist(missing), "add these hosts to the order");
  }
  Indexes order;
  for (std::size_t n = 0; n < hosts_of.size(); ++n) {
    if (hosts_of[n].empty()) {
      return usage(listed.where[n], fmt::format("host {} is not in the job", listed.names[n]),
                   "remove this host");
    }
    order.insert(order.end(), hosts_of[n].begin(), hosts_of[n].end());
  }
  const Entries entries = look_up(hosts, map);
  const cost::Domains domains = domains_of(entries, map);
  return place_in(order, hosts, std::move(map), entries, domains);
}

}  // namespace toprun::placement
