#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "placement/order.h"

namespace toprun::placement {

// The nodes of an order whose ranks share parallel groups of one kind, directly or through others.
struct Teams {
  struct Range {
    std::size_t first = 0, last = 0;
  };
  Kind kind = Kind::dp;
  std::size_t count = 0;
  std::vector<std::size_t> of_node;  // by the order's nodes; numbered by their first node
};

// `kind`: nullopt takes the one that sends most of those whose teams have several nodes and are
// several; where there is none, of those whose teams have several nodes.
// nullopt: no group of the kind, or of any, is on two nodes.
std::optional<Teams> teams_of(const Placement& placement, const Prepared& prepared,
                              std::optional<Kind> kind);

}  // namespace toprun::placement
