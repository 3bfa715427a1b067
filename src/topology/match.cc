#include "topology/match.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "hosts/hostlist.h"

namespace toprun::topology {
namespace {

std::string_view first_label(std::string_view name) {
  return name.substr(0, name.find('.'));
}

// Distinct names by their first label.
using ByLabel = std::unordered_map<std::string_view, std::unordered_set<std::string_view>>;

ByLabel by_label(const std::vector<std::string>& names) {
  ByLabel table;
  for (const std::string& name : names) table[first_label(name)].insert(name);
  return table;
}

}  // namespace

Match match_hosts(const std::vector<std::string>& wanted, const std::vector<std::string>& known) {
  std::unordered_map<std::string_view, std::size_t> exact;
  exact.reserve(known.size());
  for (std::size_t i = 0; i < known.size(); ++i) exact.emplace(known[i], i);
  Match match;
  bool all_found = true;
  for (const std::string& name : wanted) {
    const auto found = exact.find(name);
    match.known.push_back(found == exact.end() ? std::nullopt : std::optional(found->second));
    all_found = all_found && match.known.back().has_value();
  }
  if (all_found) return match;

  const ByLabel known_labels = by_label(known);
  const ByLabel wanted_labels = by_label(wanted);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (match.known[i]) continue;
    const std::string_view label = first_label(wanted[i]);
    const auto candidates = known_labels.find(label);
    if (candidates == known_labels.end()) continue;
    // A short name may mean any of the label's; a long one only the short one.
    if (wanted[i] != label && !candidates->second.contains(label)) continue;
    if (candidates->second.size() == 1 && wanted_labels.at(label).size() == 1) {
      match.known[i] = exact.at(*candidates->second.begin());
    } else {
      match.ambiguous.push_back(wanted[i]);
    }
  }
  return match;
}

Map restrict_to(Map map, const std::vector<std::string>& hosts) {
  // A file that lists just the job's hosts, in their order, is common.
  if (std::ranges::equal(map.hosts, hosts, {}, &Map::Entry::host)) return map;
  std::vector<std::string> known;
  known.reserve(map.hosts.size());
  for (Map::Entry& entry : map.hosts) known.push_back(std::move(entry.host));
  const Match match = match_hosts(hosts, known);

  Map mine{map.source, std::move(map.levels), {}, std::move(map.warnings)};
  mine.hosts.reserve(hosts.size());
  std::vector<bool> taken(known.size());  // two wanted names of one host are one name twice
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const auto& index = match.known[i];
    if (!index || taken[*index]) continue;
    taken[*index] = true;
    mine.hosts.push_back({hosts[i], std::move(map.hosts[*index].location)});
  }
  if (!match.ambiguous.empty()) {
    mine.warnings.push_back(fmt::format(
        "{}: several hosts share the short name of {}; name hosts there as the job names them",
        map.source, hosts::compress_hostlist(match.ambiguous)));
  }
  return mine;
}

}  // namespace toprun::topology
