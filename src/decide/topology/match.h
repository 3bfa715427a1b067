#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "decide/topology/tree.h"

namespace toprun::topology {

// The result of match_hosts(). For each requested name, `known` has the index of the known name of
// the same host. A known name equal to the requested name has priority. Otherwise two names match
// if they differ only in the case of letters, or if one is the first label of the other ("n0" and
// "N0.cluster.internal"). Such a match counts only if it is the only match of the requested name
// and of the known name. `ambiguous` lists the requested names with several such matches.
struct Match {
  std::vector<std::optional<std::size_t>> known;  // per requested name: index of the known name
  std::vector<std::string> ambiguous;  // requested names that have several possible matches
};
Match match_hosts(const std::vector<std::string>& requested, const std::vector<std::string>& known);

// Reduces the map to `hosts`, with their names and in their order. Hosts that are not in the map
// are left out. Ambiguous names are also left out, with a warning that lists them. A name that
// occurs several times in `hosts` is added once. `links` are recomputed from the domains of these
// hosts.
Map restrict_to(Map map, const std::vector<std::string>& hosts);

// Adds a warning if two entries are probably the same host: their names are equal except for case,
// or one name is the first label of the other.
void warn_of_similar_names(Map& map);

}  // namespace toprun::topology
