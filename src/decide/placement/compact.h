#pragma once

#include <string>
#include <vector>

#include "decide/topology/tree.h"

namespace toprun::placement {

// The largest set of the given hosts that share one domain of a level.
struct CompactSet {
  std::string level;                // "leaf"
  std::vector<std::string> domain;  // outermost first: {"core", "s0"}; without unknown levels
  std::vector<std::string> hosts;   // in the given order
};

// Returns, for each level of the map, innermost first, the domain that contains most of these
// hosts; among equals, the first. A level is left out if it is unknown for all these hosts, or if
// its largest set is not larger than that of the next inner level.
std::vector<CompactSet> compact_sets(const topology::Map& map,
                                     const std::vector<std::string>& hosts);

}  // namespace toprun::placement
