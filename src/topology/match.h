#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "topology/tree.h"

namespace toprun::topology {

// For each wanted host name the known name of the same host: an equal name; else a name that
// differs only in case, or whose first label is the other name ("n0" and "N0.cluster.internal"), if
// exactly one known and one wanted name match so. Names of the second kind with several matches are
// `ambiguous`.
struct Match {
  std::vector<std::optional<std::size_t>> known;  // per wanted name: index of the known one
  std::vector<std::string> ambiguous;             // wanted names left without one
};
Match match_hosts(const std::vector<std::string>& wanted, const std::vector<std::string>& known);

// The map's knowledge of these hosts only, under these names and in this order. Hosts that the map
// lacks are left out; ambiguous ones too, with a warning that names them. A name given several
// times appears once.
Map restrict_to(Map map, const std::vector<std::string>& hosts);

// Warns of hosts that are two for us but probably one: their names are equal but for case, or one
// is the first label of the other.
void warn_of_twins(Map& map);

}  // namespace toprun::topology
