#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "placement/domains.h"
#include "placement/layout.h"
#include "placement/links.h"
#include "placement/mapping.h"
#include "placement/traffic.h"

namespace toprun::placement {

// How the ranks of a job work together, as the user says it: what the order of its nodes is to
// serve.
struct Plan {
  Parallel parallel;
  std::optional<double> parameters;  // of the model; default_parameters unless told
  std::map<Kind, double> traffic;    // bytes that each rank sends per step
  LinksByLevel links;                // --link
};

// The plan for a job of so many ranks in a network.
struct Prepared {
  Layout layout;
  std::vector<Kind> kinds;  // those that send anything
  Traffic traffic;
  Links links;
};

inline constexpr int max_planned_ranks = 10'000'000;

// `processes` by node, ≥ 0. Errors (usage): those of layout_of() and links_of(), too many ranks.
Result<Prepared> prepare(const Plan& plan, const topology::Map& map,
                         std::span<const int> processes);

// The slot of each rank, if the nodes in this order run so many processes each.
std::vector<std::uint32_t> slots_of_ranks(std::span<const int> processes);

// The nodes in the order that serves the plan best (see map_slots()). `plain`: their topology
// order, where the first `placed` nodes have a place; `processes` by node. nullopt: too many pairs
// of nodes send to each other (max_pairs).
std::optional<Mapping> map_nodes(const Prepared& prepared, std::span<const std::size_t> plain,
                                 std::size_t placed, const Domains& domains,
                                 std::span<const int> processes);

}  // namespace toprun::placement
