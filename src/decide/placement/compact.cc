#include "decide/placement/compact.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace toprun::placement {
namespace {

using topology::Path;

Path down_to(const Path& path, std::size_t level) {
  return {path.begin(), path.begin() + static_cast<std::ptrdiff_t>(level) + 1};
}

std::vector<std::string> names_of(const Path& path) {
  std::vector<std::string> names;
  for (const auto& name : path) {
    if (name) names.push_back(*name);
  }
  return names;
}

CompactSet largest(const topology::Map& map, const std::vector<std::string>& hosts,
                   const std::unordered_map<std::string, const Path*>& paths, std::size_t level) {
  std::map<Path, std::vector<std::string>> domains;
  CompactSet best{map.levels[level], {}, {}};
  for (const std::string& host : hosts) {
    const auto path = paths.find(host);
    if (path == paths.end() || !(*path->second)[level]) continue;
    domains[down_to(*path->second, level)].push_back(host);
  }
  for (auto& [path, members] : domains) {
    if (members.size() > best.hosts.size()) {
      best.domain = names_of(path);
      best.hosts = std::move(members);
    }
  }
  return best;
}

}  // namespace

std::vector<CompactSet> compact_sets(const topology::Map& map,
                                     const std::vector<std::string>& hosts) {
  std::unordered_map<std::string, const Path*> paths;
  for (const auto& entry : map.hosts) paths[entry.host] = &entry.location.path;
  std::vector<CompactSet> sets;
  for (std::size_t level = map.levels.size(); level-- > 0;) {
    CompactSet set = largest(map, hosts, paths, level);
    if (set.hosts.size() > (sets.empty() ? 0 : sets.back().hosts.size())) {
      sets.push_back(std::move(set));
    }
  }
  return sets;
}

}  // namespace toprun::placement
