#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "decide/placement/order.h"

namespace toprun::placement {

// Sets of nodes. Two nodes are in the same set if a parallel group of one kind has ranks on both,
// or if a chain of such nodes connects them.
struct Teams {
  struct Range {
    std::size_t first = 0, last = 0;
  };
  cost::Kind kind = cost::Kind::dp;
  std::size_t count = 0;
  std::vector<std::size_t> of_node;  // the team of each position in the order; teams are numbered
                                     // by their first node
};

// If `kind` is nullopt, a kind is selected. Kinds with several teams of several nodes each have
// priority over kinds with a single team. Among equals, the kind with the most traffic is selected.
// Returns nullopt if no group of this kind (or of any kind, if none is given) is on two nodes.
std::optional<Teams> teams_of(const Placement& placement, const Prepared& prepared,
                              std::optional<cost::Kind> kind);

}  // namespace toprun::placement
