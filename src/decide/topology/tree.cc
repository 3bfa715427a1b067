#include "decide/topology/tree.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/net/hostlist.h"
#include "base/text/text.h"
#include "decide/topology/physical_host.h"

namespace toprun::topology {
namespace {

// Sources list the switches of a fat tree in different orders: "sp[1,0]" and "sp[0-1]" are equal.
bool same_domain(const std::string& a, const std::string& b) {
  if (a == b) return true;
  auto names_a = hosts::parse_hostlist(a);
  auto names_b = hosts::parse_hostlist(b);
  if (!names_a || !names_b || names_a->size() != names_b->size()) return false;
  std::ranges::sort(*names_a);
  std::ranges::sort(*names_b);
  return *names_a == *names_b;
}

// Fills the unknown levels of `into` from `from`; returns false if the two disagree on a level.
bool fill(Path& into, const Path& from) {
  for (std::size_t level = 0; level < into.size(); ++level) {
    if (from[level].is_unknown() || (into[level] && from[level].is_none())) continue;
    if (into[level] && !same_domain(*into[level], *from[level])) return false;
    if (!into[level]) into.set(level, from[level]);
  }
  return true;
}

// Whether one list of level names is a suffix of the other.
bool same_kind(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::equal(a.rbegin(),
                    a.rbegin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())),
                    b.rbegin());
}

}  // namespace

void append_location(std::string& out, const Location& location, std::string_view host) {
  if (!location.path.known()) {
    out += "unknown";
  } else if (!location.written.empty()) {
    out += location.written;
  } else {
    out += location.path.text();
    out += host;
  }
}

std::string location_text(const Location& location, std::string_view host) {
  std::string text;
  append_location(text, location, host);
  return text;
}

std::vector<std::string> switch_level_names(std::size_t count) {
  static constexpr std::string_view usual[] = {"leaf", "spine", "core"};
  std::vector<std::string> names;
  for (std::size_t level = count; level-- > 0;) {
    names.push_back(level < std::size(usual) ? std::string(usual[level])
                                             : fmt::format("level{}", level));
  }
  return names;
}

Path aligned_at_leaf(Path path, std::size_t length) {
  if (path.size() >= length) return path;
  std::vector<Domain> domains(length - path.size());
  domains.insert(domains.end(), path.begin(), path.end());
  Path aligned(std::move(domains));
  if (path.seat() > 0) aligned.set_seat(path.seat());
  return aligned;
}

void MapBuilder::expect(std::size_t hosts) {
  map_.hosts.reserve(hosts);
  index_.expect(hosts);
}

const Location* MapBuilder::find(const std::string& host) {
  const auto found =
      index_.find(host, [&](std::size_t i) -> std::string_view { return map_.hosts[i].host; });
  return found ? &map_.hosts[*found].location : nullptr;
}

// Neighbours in a network of 100,000 hosts share one path in memory, so it is checked once.
void MapBuilder::drop_placeholders(Location& location) {
  const Path& path = location.path;
  if (path.empty() || path.identity() == last_clean_.identity()) return;
  const auto is_dropped = [](const Domain& domain) { return domain && is_placeholder(*domain); };
  const auto first = std::ranges::find_if(path, is_dropped);
  if (first == path.end()) {
    last_clean_ = path;
    return;
  }
  placeholders_.add([&] {
    return fmt::format(
        "{}: '{}' is not the name of a domain: toprun treats this level as not known",
        location.evidence.text(), printable(**first));
  });
  Path cleaned = path;
  for (std::size_t level = 0; level < path.size(); ++level) {
    if (is_dropped(path[level])) cleaned.set(level, std::nullopt);
  }
  location.path = std::move(cleaned);
  location.written.clear();
}

std::optional<std::size_t> MapBuilder::take(std::string& host, Location& location) {
  drop_placeholders(location);
  const auto [position, is_new] =
      index_.add(host, map_.hosts.size(),
                 [&](std::size_t i) -> std::string_view { return map_.hosts[i].host; });
  if (!is_new) return position;
  map_.hosts.push_back({std::move(host), std::move(location)});
  return std::nullopt;
}

std::unexpected<Error> MapBuilder::twice(std::size_t first, const std::string& where) const {
  return usage(where,
               fmt::format("host {} appears twice, first at {}", map_.hosts[first].host,
                           map_.hosts[first].location.evidence.text()),
               "remove one of the two");
}

Result<void> MapBuilder::add(std::string host, Location location, const std::string& where) {
  if (const auto first = take(host, location)) return twice(*first, where);
  return {};
}

Result<void> MapBuilder::add(std::string host, Location location, std::string_view file,
                             Position where) {
  if (const auto first = take(host, location)) return twice(*first, at(file, where));
  return {};
}

// Removes levels without any named domain.
void MapBuilder::drop_empty_levels() {
  for (std::size_t level = map_.levels.size(); level-- > 0;) {
    const auto has_one = [&](const Map::Entry& entry) {
      return !entry.location.path[level].is_unknown();
    };
    if (std::ranges::any_of(map_.hosts, has_one)) continue;
    map_.levels.erase(map_.levels.begin() + static_cast<std::ptrdiff_t>(level));
    for (Map::Entry& entry : map_.hosts) entry.location.path.erase(level);
  }
}

Map MapBuilder::finish(std::vector<std::string> levels) {
  map_.levels = std::move(levels);
  for (Map::Entry& entry : map_.hosts) {
    entry.location.path = aligned_at_leaf(std::move(entry.location.path), map_.levels.size());
  }
  if (placeholders_.count > 0) {
    drop_empty_levels();
    map_.warnings.push_back(placeholders_.text("hosts"));
  }
  return std::move(map_);
}

void add_host_link(Map& map, double gbps) {
  if (gbps <= 0 || map.levels.empty()) return;
  std::optional<double>& known = map.links[std::string(host_level)].gbps;
  if (!known) known = gbps;
}

void set_links_of_domains(Map& map) {
  for (std::size_t level = 0; level < map.levels.size(); ++level) {
    const auto known = map.domain_gbps.find(map.levels[level]);
    if (known == map.domain_gbps.end()) continue;
    std::optional<double> least;
    for (const Map::Entry& entry : map.hosts) {
      const Path& path = entry.location.path;
      if (level >= path.size() || !path[level]) continue;
      const auto found = known->second.find(std::string(*path[level]));
      if (found != known->second.end())
        least = std::min(least.value_or(found->second), found->second);
    }
    if (least && *least > 0) {
      map.links[map.levels[level]].gbps = least;
    } else {
      map.links.erase(map.levels[level]);
    }
  }
}

Result<Map> merge(Map first, Map second) {
  if (first.levels.empty() || second.levels.empty()) {
    const bool first_knows =
        !first.levels.empty() || (second.levels.empty() && !first.hosts.empty());
    if (!first_knows) std::swap(first, second);
    if (first.source.empty()) first.source = std::move(second.source);
    first.links.merge(std::move(second.links));
    first.domain_gbps.merge(std::move(second.domain_gbps));
    std::ranges::move(second.warnings, std::back_inserter(first.warnings));
    std::ranges::move(second.notes, std::back_inserter(first.notes));
    return first;
  }
  if (!same_kind(first.levels, second.levels)) {
    return fail(
        fmt::format("{} and {} contradict each other", first.hosts.front().location.evidence.text(),
                    second.hosts.front().location.evidence.text()),
        fmt::format("one has the levels {}, the other {}", fmt::join(first.levels, "/"),
                    fmt::join(second.levels, "/")),
        "choose one source with --topology");
  }
  const std::size_t depth = std::max(first.levels.size(), second.levels.size());
  std::unordered_map<std::string, std::size_t> index;
  for (Map::Entry& entry : first.hosts) {
    entry.location.path = aligned_at_leaf(std::move(entry.location.path), depth);
    index.emplace(entry.host, index.size());
  }
  for (Map::Entry& entry : second.hosts) {
    entry.location.path = aligned_at_leaf(std::move(entry.location.path), depth);
    const auto found = index.find(entry.host);
    if (found == index.end()) {
      first.hosts.push_back(std::move(entry));
      continue;
    }
    Location& mine = first.hosts[found->second].location;
    const Location before = mine;
    if (fill(mine.path, entry.location.path)) {
      if (!before.path.known()) mine.evidence = entry.location.evidence;
      continue;
    }
    return fail(fmt::format("host {} has two positions", entry.host),
                fmt::format("{} says {}, {} says {}", before.evidence.text(),
                            location_text(before, entry.host), entry.location.evidence.text(),
                            location_text(entry.location, entry.host)),
                "choose one source with --topology");
  }
  if (second.levels.size() == depth) first.levels = std::move(second.levels);
  first.links.merge(std::move(second.links));
  first.domain_gbps.merge(std::move(second.domain_gbps));
  std::ranges::move(second.warnings, std::back_inserter(first.warnings));
  std::ranges::move(second.notes, std::back_inserter(first.notes));
  return first;
}

}  // namespace toprun::topology
