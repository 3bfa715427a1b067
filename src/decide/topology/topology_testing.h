#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "decide/topology/tree.h"

namespace toprun::topology {

// A map as text for tests: the levels, then one "host path evidence" per line; "?" is an unknown
// level, "-" a level that the host does not have.
inline std::string text_of(const Map& map) {
  std::string text = fmt::format("{}\n", fmt::join(map.levels, " "));
  for (const Map::Entry& entry : map.hosts) {
    text += entry.host + ' ';
    for (std::size_t i = 0; i < entry.location.path.size(); ++i) {
      const Domain& domain = entry.location.path[i];
      text += (i == 0 ? "" : "/") + domain.value_or(domain.is_none() ? "-" : "?");
    }
    text += ' ' + entry.location.evidence.text() + '\n';
  }
  return text;
}

inline std::string text_of(const Result<Map>& map) {
  return map ? text_of(*map) : "error: " + map.error().line();
}

inline std::string text_with_warnings(const Result<Map>& map) {
  std::string text = text_of(map);
  if (!map) return text;
  for (const std::string& warning : map->warnings) text += warning + '\n';
  return text;
}

// For fuzzing: in a map, all paths are as long as the levels.
inline void check_paths(const Result<Map>& map) {
  if (!map) return;
  for (const Map::Entry& entry : map->hosts) {
    if (entry.location.path.size() != map->levels.size()) std::abort();
  }
}

}  // namespace toprun::topology
