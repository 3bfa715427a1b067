#pragma once

#include <string>
#include <vector>

#include "topology/tree.h"

namespace toprun::placement {

// The most of some hosts that share one domain of a level.
struct CompactSet {
  std::string level;                // "leaf"
  std::vector<std::string> domain;  // from the outermost: {"core", "s0"}; unknown levels left out
  std::vector<std::string> hosts;   // in the given order
};

// For each level of the map, innermost first, the domain with most of these hosts; the first of
// several with as many. There is no row for a level that is unknown for all of them, or that holds
// no more hosts than the level inside it.
std::vector<CompactSet> compact_sets(const topology::Map& map,
                                     const std::vector<std::string>& hosts);

}  // namespace toprun::placement
