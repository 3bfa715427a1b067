#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "decide/cost/domains.h"
#include "decide/cost/layout.h"
#include "decide/cost/links.h"
#include "decide/cost/traffic.h"
#include "decide/placement/mapping.h"

namespace toprun::placement {

// The user's description of how the ranks of a job work together; the node order is optimised for
// it.
struct Plan {
  cost::Parallel parallel;
  std::optional<double> parameters;      // of the model; unset: default_parameters
  std::map<cost::Kind, double> traffic;  // bytes that each rank sends per step
  cost::LinksByLevel links;              // --link
};

// The plan for a job with a number of ranks in a network.
struct Prepared {
  cost::Layout layout;
  std::vector<cost::Kind> kinds;  // the kinds with traffic
  cost::Traffic traffic;
  cost::Links links;
};

inline constexpr int max_planned_ranks = 10'000'000;

// `processes` by node, ≥ 0. Errors (usage): those of layout_of() and links_of(), too many ranks.
Result<Prepared> prepare(const Plan& plan, const topology::Map& map,
                         std::span<const int> processes);

// The nodes in the order with the best traffic for the plan (see map_slots()). `plain`: their
// topology order; its first `placed` nodes have a known place. `processes` by node. nullopt: too
// many pairs of nodes send to each other (max_pairs).
std::optional<Mapping> map_nodes(const Prepared& prepared, std::span<const std::size_t> plain,
                                 std::size_t placed, const cost::Domains& domains,
                                 std::span<const int> processes);

}  // namespace toprun::placement
