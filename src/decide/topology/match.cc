#include "decide/topology/match.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/net/hostlist.h"
#include "base/text/name_index.h"
#include "base/text/text.h"

namespace toprun::topology {
namespace {

std::string_view first_label(std::string_view name) {
  return name.substr(0, name.find('.'));
}

// Distinct names by their first label in lower case.
using ByLabel = std::unordered_map<std::string, std::unordered_set<std::string_view>>;

ByLabel by_label(const std::vector<std::string>& names) {
  ByLabel table;
  for (const std::string& name : names) table[lower(first_label(name))].insert(name);
  return table;
}

// The hash of the first label without regard to case; equal labels have equal hashes (FNV-1a).
std::uint64_t hash_of_label(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : first_label(name)) {
    const auto letter = static_cast<unsigned char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    hash = (hash ^ letter) * 0x100000001b3;
  }
  return hash;
}

// Whether any two hosts may be the same host. A fast pre-check: few files have such hosts, and the
// exact comparison is slow.
bool have_a_common_label(const Map& map) {
  // An open hash table that contains the hashes themselves, at most half full; 0 is a free slot.
  std::vector<std::uint64_t> seen(std::bit_ceil(2 * map.hosts.size() + 1));
  const std::size_t mask = seen.size() - 1;
  for (const Map::Entry& entry : map.hosts) {
    const std::uint64_t hash = std::max<std::uint64_t>(hash_of_label(entry.host), 1);
    std::size_t i = hash & mask;
    for (; seen[i] != 0; i = (i + 1) & mask) {
      if (seen[i] == hash) return true;
    }
    seen[i] = hash;
  }
  return false;
}

// Whether the two names may belong to one host: a short name matches any name with its label, a
// long name matches only itself or its short form, without regard to case.
bool may_be_one(std::string_view a, std::string_view b) {
  const bool both_long = first_label(a) != a && first_label(b) != b;
  return lower(first_label(a)) == lower(first_label(b)) && (!both_long || lower(a) == lower(b));
}

}  // namespace

Match match_hosts(const std::vector<std::string>& requested,
                  const std::vector<std::string>& known) {
  const auto known_name = [&](std::size_t i) -> std::string_view { return known[i]; };
  NameIndex exact;
  exact.expect(known.size());
  for (std::size_t i = 0; i < known.size(); ++i) exact.add(known[i], i, known_name);
  Match match;
  match.known.reserve(requested.size());
  bool all_found = true;
  for (const std::string& name : requested) {
    match.known.push_back(exact.find(name, known_name));
    all_found = all_found && match.known.back().has_value();
  }
  if (all_found) return match;

  const ByLabel known_labels = by_label(known);
  const ByLabel requested_labels = by_label(requested);
  for (std::size_t i = 0; i < requested.size(); ++i) {
    if (match.known[i]) continue;
    const std::string label = lower(first_label(requested[i]));
    const auto candidates = known_labels.find(label);
    if (candidates == known_labels.end()) continue;
    const bool any = std::ranges::any_of(
        candidates->second, [&](std::string_view name) { return may_be_one(requested[i], name); });
    if (!any) continue;
    if (candidates->second.size() == 1 && requested_labels.at(label).size() == 1) {
      match.known[i] = exact.find(*candidates->second.begin(), known_name);
    } else {
      match.ambiguous.push_back(requested[i]);
    }
  }
  return match;
}

Map restrict_to(Map map, const std::vector<std::string>& hosts) {
  // Fast path for a file that lists exactly the job's hosts in their order.
  if (std::ranges::equal(map.hosts, hosts, {}, &Map::Entry::host)) return map;  // links included
  std::vector<std::string> known;
  known.reserve(map.hosts.size());
  for (Map::Entry& entry : map.hosts) known.push_back(std::move(entry.host));
  const Match match = match_hosts(hosts, known);

  Map mine{map.source,
           std::move(map.levels),
           {},
           std::move(map.warnings),
           std::move(map.links),
           std::move(map.notes),
           std::move(map.domain_gbps)};
  mine.hosts.reserve(hosts.size());
  // two wanted names of one host count as one name that occurs twice
  std::vector<bool> taken(known.size());
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const auto& index = match.known[i];
    if (!index || taken[*index]) continue;
    taken[*index] = true;
    mine.hosts.push_back({hosts[i], std::move(map.hosts[*index].location)});
  }
  if (!match.ambiguous.empty()) {
    mine.warnings.push_back(fmt::format(
        "{}: several hosts share the short name of {}; use the job's host names in that file",
        map.source, hosts::compress_hostlist(match.ambiguous)));
  }
  set_links_of_domains(mine);
  return mine;
}

void warn_of_similar_names(Map& map) {
  if (!have_a_common_label(map)) return;
  std::unordered_map<std::string, std::vector<const Map::Entry*>> same_label;
  std::size_t twins = 0;
  std::string first;
  for (const Map::Entry& entry : map.hosts) {
    auto& same = same_label[lower(first_label(entry.host))];
    for (const Map::Entry* other : same) {
      if (!may_be_one(entry.host, other->host) || twins++ > 0) continue;
      first = fmt::format(
          "{} ({}) and {} ({}) are perhaps the same host, but toprun counts them as two hosts",
          other->host, other->location.evidence.text(), entry.host, entry.location.evidence.text());
    }
    // Many hosts with one label in different domains are not a mistake.
    constexpr std::size_t compared = 8;
    if (same.size() < compared) same.push_back(&entry);
  }
  if (twins > 1) first += fmt::format(" ({} such pairs)", twins);
  if (twins > 0) map.warnings.push_back(std::move(first));
}

}  // namespace toprun::topology
