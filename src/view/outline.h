#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "placement/order.h"

namespace toprun::view {

// A domain with its nodes; or those nodes of a domain whose own domain at the next level is not
// known, which may sit in one or in many; or, without a name and not unknown, those that hang on
// the domain around them directly. A level that a branch lacks is left out: what is inside follows
// at once, with a level of its own.
struct Domain {
  std::size_t level = 0;  // of the placement's levels
  topology::Domain name;
  std::span<const placement::Node> nodes;  // of the placement, which must outlive this
  std::vector<Domain> inside;  // empty: innermost level, or nothing is known further inwards
};

// The outermost domains of the nodes that have a place. The placement is one of Order::topology,
// where the nodes of a domain stand in a row.
std::vector<Domain> outline(const placement::Placement& placement);

// A line per domain, indented by level: name, count of nodes and, at the innermost, which. Domains
// without others inside are folded into one line where more than `max_siblings` stand side by side;
// nodes without a place are in the last line.
inline constexpr std::size_t max_siblings = 16;
std::string outline_text(const placement::Placement& placement, bool fold = true);

// {"schema": "toprun.topo_show/1", source, levels, nodes, domains: [{level, name, nodes, domains or
// hosts}], unplaced, warnings}; a domain's name is null where it is not known or there is none.
std::string outline_json(const placement::Placement& placement);

}  // namespace toprun::view
