#include "placement/order.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "base/text.h"
#include "hosts/hostlist.h"
#include "placement/domains.h"
#include "topology/match.h"
#include "topology/position.h"

namespace toprun::placement {
namespace {

using Indexes = std::vector<std::size_t>;

// The map's entry of each host, null where it has none.
using Locations = std::vector<const topology::Location*>;

Locations look_up(const std::vector<Host>& hosts, const topology::Map& map) {
  std::unordered_map<std::string_view, const topology::Location*> by_name;
  by_name.reserve(map.hosts.size());
  for (const auto& entry : map.hosts) by_name.emplace(entry.host, &entry.location);
  Locations locations;
  locations.reserve(hosts.size());
  for (const Host& host : hosts) {
    const auto found = by_name.find(host.name);
    const bool placed = found != by_name.end() && topology::known(found->second->path);
    locations.push_back(placed ? found->second : nullptr);
  }
  return locations;
}

Domains domains_of(const Locations& locations, std::size_t levels) {
  const topology::Path nowhere(levels);
  std::vector<const topology::Path*> paths;
  for (const auto* location : locations) paths.push_back(location ? &location->path : &nowhere);
  return {paths, levels};
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

// Sorting by the innermost domain's place, which follows that of all domains around it, puts every
// domain's nodes in a row at every level at once: no domain is entered twice, which is the fewest
// crossings there can be.
Indexes by_topology(const std::vector<Host>& hosts, const Locations& locations,
                    const Domains& domains) {
  Indexes order = as_given(hosts.size());
  if (domains.levels() == 0) return order;
  const auto unplaced =
      std::ranges::stable_partition(order, [&](std::size_t i) { return locations[i] != nullptr; });

  struct Seat {
    std::uint32_t domain;
    std::size_t host;
  };
  std::vector<Seat> seats;
  for (auto i = order.begin(); i != unplaced.begin(); ++i) {
    seats.push_back({domains.place(*i, domains.levels() - 1), *i});
  }
  std::ranges::sort(seats, [&](const Seat& a, const Seat& b) {
    if (a.domain != b.domain) return a.domain < b.domain;
    if (hosts[a.host].name == hosts[b.host].name) return a.host < b.host;
    return natural_less(hosts[a.host].name, hosts[b.host].name);
  });
  std::ranges::transform(seats, order.begin(), &Seat::host);
  return order;
}

Result<void> add_nodes(Placement& placement, const std::vector<Host>& hosts,
                       const Locations& locations, const Indexes& order) {
  std::int64_t rank = 0;
  placement.nodes.reserve(order.size());
  for (const std::size_t i : order) {
    const Host& host = hosts[i];
    if (host.nproc < 0) return fail(fmt::format("host {} has {} processes", host.name, host.nproc));
    Node node{host.name, i, {}, locations[i] != nullptr, static_cast<int>(rank), host.nproc};
    if (node.placed) {
      node.location = *locations[i];
    } else {
      node.location.path.resize(placement.levels.size());
      placement.unplaced.push_back(host.name);
    }
    placement.nodes.push_back(std::move(node));
    rank += host.nproc;
    if (rank > std::numeric_limits<int>::max()) {
      return usage("too many ranks", fmt::format("more than {}", std::numeric_limits<int>::max()));
    }
  }
  return {};
}

void warn_of_unplaced(Placement& placement) {
  if (placement.unplaced.empty() || placement.source.empty()) return;
  placement.warnings.push_back(fmt::format(
      "{} does not say where {} {}: placed last, each as if alone", placement.source,
      hosts::compress_hostlist(placement.unplaced), placement.unplaced.size() == 1 ? "is" : "are"));
}

Result<Placement> place_in(const Indexes& order, const std::vector<Host>& hosts,
                           const topology::Map& map, const Locations& locations,
                           const Domains& domains) {
  Placement placement{map.source, map.levels, {}, {}, {}, map.warnings};
  if (auto added = add_nodes(placement, hosts, locations, order); !added) {
    return std::unexpected(added.error());
  }
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

// The names of an order file and where each stands.
struct Listed {
  std::vector<std::string> names;
  std::vector<std::string> where;
};

Result<Listed> read_list(std::string_view text, const std::string& file) {
  Listed listed;
  std::unordered_map<std::string, std::size_t> first;
  std::size_t line_number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++line_number;
    line = line.substr(0, line.find('#'));
    const auto hosts = hosts::parse_hostlist(line, hosts::max_hosts - listed.names.size());
    if (!hosts) {
      return usage(topology::at(file, {line_number, hosts.error().column}), hosts.error().why,
                   hosts.error().fix);
    }
    for (const std::string& host : *hosts) {
      const std::string where = topology::at_line(file, line_number);
      const auto [earlier, is_new] = first.emplace(host, listed.names.size());
      if (!is_new) {
        return usage(where,
                     fmt::format("host {} stands here for the second time, first at {}", host,
                                 listed.where[earlier->second]),
                     "remove one of the two");
      }
      listed.names.push_back(host);
      listed.where.push_back(where);
    }
  }
  return listed;
}

}  // namespace

Result<Placement> place(const std::vector<Host>& hosts, const topology::Map& map, Order order) {
  const Locations locations = look_up(hosts, map);
  const Domains domains = domains_of(locations, map.levels.size());
  Indexes indexes;
  switch (order) {
    case Order::topology:
      indexes = by_topology(hosts, locations, domains);
      break;
    case Order::name:
      indexes = by_name(hosts);
      break;
    case Order::given:
      indexes = as_given(hosts.size());
      break;
  }
  return place_in(indexes, hosts, map, locations, domains);
}

Result<Placement> place_as_listed(const std::vector<Host>& hosts, const topology::Map& map,
                                  std::string_view text, const std::string& file) {
  const auto listed = read_list(text, file);
  if (!listed) return std::unexpected(listed.error());
  const topology::Match match = topology::match_hosts(names_of(hosts), listed->names);
  std::vector<Indexes> hosts_of(listed->names.size());
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
                 hosts::compress_hostlist(missing), "add them to the order");
  }
  Indexes order;
  for (std::size_t n = 0; n < hosts_of.size(); ++n) {
    if (hosts_of[n].empty()) {
      return usage(listed->where[n], fmt::format("host {} is not in the job", listed->names[n]),
                   "remove it");
    }
    order.insert(order.end(), hosts_of[n].begin(), hosts_of[n].end());
  }
  const Locations locations = look_up(hosts, map);
  return place_in(order, hosts, map, locations, domains_of(locations, map.levels.size()));
}

}  // namespace toprun::placement
