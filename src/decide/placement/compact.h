#pragma once

#include <string>
#include <vector>

#include "decide/topology/tree.h"

namespace toprun::placement {

// A level, and the caller's largest set of hosts in one domain of this level.
struct CompactSet {
  std::string level;                // "leaf"
  std::vector<std::string> domain;  // outermost first: {"core", "s0"}; without unknown levels
  std::vector<std::string> hosts;   // in the caller's order
};

// Returns the largest set of hosts at each level, innermost level first. Of several sets with equal
// size, the first is returned. A level is left out if it is unknown for all these hosts, or if its
// set is not larger than the set of the level inside it.
std::vector<CompactSet> compact_sets(const topology::Map& map,
                                     const std::vector<std::string>& hosts);

}  // namespace toprun::placement
