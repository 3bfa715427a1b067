#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "decide/placement/order.h"

namespace toprun::report {

// A domain with its nodes. There are two special cases. An unknown domain stands for all nodes of
// its parent whose domain at this level is unknown; the nodes may be in several domains. A domain
// whose name is_none() contains the nodes that are directly inside its parent. If a branch of the
// tree has no domains at a level, the domains of the next level follow, with their own level
// number.
struct Domain {
  std::size_t level = 0;  // index in the placement's levels
  topology::Domain name;
  std::span<const placement::Node> nodes;  // part of the placement, which must outlive this object
  std::vector<Domain> inside;  // empty: innermost level, or all inner levels are unknown
};

std::vector<std::string> names_of(std::span<const placement::Node> nodes);
// Returns the names as a host list; if it is too long for one line, only the first names.
std::string one_line_list(const std::vector<std::string>& names);

// Returns the outermost domains of the nodes whose location is known. The placement must have
// Order::topology, so that the nodes of a domain are consecutive.
std::vector<Domain> outline(const placement::Placement& placement);

// If a parent has more innermost domains than this, one line of the outline stands for all of them.
inline constexpr std::size_t max_siblings = 16;
// Returns one line per domain, indented by level: name, number of nodes and, for innermost domains,
// their names. The last line lists the nodes whose location is unknown.
std::string outline_text(const placement::Placement& placement, bool fold = true);

// Returns {"schema": "toprun.topo_show/1", source, levels, nodes, domains: [{level, name, nodes,
// domains or hosts}], unplaced, warnings}; the name of an unknown or unnamed domain is null.
std::string outline_json(const placement::Placement& placement);

}  // namespace toprun::report
