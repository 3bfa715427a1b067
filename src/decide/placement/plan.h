#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "decide/cost/domains.h"
#include "decide/cost/layout.h"
#include "decide/cost/links.h"
#include "decide/cost/traffic.h"
#include "decide/placement/mapping.h"

namespace toprun::placement {

// The user's description of a job's parallelism. The node order is optimised for this parallelism.
struct Plan {
  cost::Parallel parallel;
  std::optional<double> parameters;      // of the model; unset: default_parameters
  std::map<cost::Kind, double> traffic;  // bytes that each rank sends per step
  cost::LinksByLevel links;              // --link
};

// A plan, completed with the network's links and the job's number of ranks.
struct Prepared {
  cost::Layout layout;
  std::vector<cost::Kind> kinds;  // the kinds with traffic
  cost::Traffic traffic;
  cost::Links links;
};

inline constexpr int max_planned_ranks = 10'000'000;

// Applies a plan. `processes` by node, ≥ 0. Errors (usage): those of layout_of() and links_of(),
// too many ranks.
Result<Prepared> prepare(const Plan& plan, const topology::Map& map,
                         std::span<const int> processes);

// Returns the best order of the nodes for the plan's traffic (see map_slots()). `plain` is the
// nodes' topology order; the network location of its first `placed` nodes is known. `processes` has
// each node's number of processes. nullopt: too many pairs of nodes exchange data (max_pairs).
std::optional<Mapping> map_nodes(const Prepared& prepared, std::span<const std::size_t> plain,
                                 std::size_t placed, const cost::Domains& domains,
                                 std::span<const int> processes);

}  // namespace toprun::placement
