#include "decide/placement/plan.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "decide/cost/links.h"

namespace toprun::placement {
namespace {

// The grid of ranks without the part inside each node, innermost first. If a node does not contain
// whole rows of it, the slots form a grid of one dimension.
std::vector<int> dimensions_of_slots(const cost::Layout& layout, int processes, std::size_t slots) {
  std::vector<int> dimensions;
  for (const cost::Kind kind : layout.order) {
    if (kind == cost::Kind::ep) continue;  // a part of dp's ranks, or of cp's or tp's
    const int on_node = std::gcd(processes, layout.size(kind));
    processes /= on_node;
    if (layout.size(kind) / on_node > 1 && processes > 1) break;
    dimensions.push_back(layout.size(kind) / on_node);
  }
  const auto product =
      std::accumulate(dimensions.begin(), dimensions.end(), std::size_t{1},
                      [](std::size_t a, int b) { return a * static_cast<std::size_t>(b); });
  if (product == slots) return dimensions;
  return {static_cast<int>(slots)};
}

}  // namespace

Result<Prepared> prepare(const Plan& plan, const topology::Map& map,
                         std::span<const int> processes) {
  const auto world = std::accumulate(processes.begin(), processes.end(), std::int64_t{0});
  if (world < 1 || world > max_planned_ranks) {
    return usage("--parallel",
                 fmt::format("the job has {} ranks, but a plan can have only 1 to {} ranks", world,
                             max_planned_ranks));
  }
  auto layout = TRY(cost::layout_of(plan.parallel, static_cast<int>(world)));
  auto links = TRY(cost::links_of(map, plan.links, std::max(1, std::ranges::max(processes))));
  const cost::Traffic traffic =
      cost::traffic_of(layout, plan.parameters.value_or(cost::default_parameters), plan.traffic);
  std::vector<cost::Kind> kinds = cost::kinds_of(layout);
  return Prepared{std::move(layout), std::move(kinds), traffic, std::move(links)};
}

std::optional<Mapping> map_nodes(const Prepared& prepared, std::span<const std::size_t> plain,
                                 std::size_t placed, const cost::Domains& domains,
                                 std::span<const int> processes) {
  std::vector<int> by_slot;
  for (const std::size_t node : plain) by_slot.push_back(processes[node]);
  const auto graph = cost::graph_of(prepared.layout, prepared.traffic, prepared.kinds,
                                    cost::slots_of_ranks(by_slot), plain.size());
  if (!graph) return std::nullopt;
  const bool equal =
      std::ranges::count(by_slot, by_slot.front()) == static_cast<std::ptrdiff_t>(by_slot.size());
  std::vector<int> dimensions;
  if (equal) dimensions = dimensions_of_slots(prepared.layout, by_slot.front(), plain.size());
  const cost::Ways ways(domains, plain.size(), prepared.links);
  return map_slots({*graph, dimensions, plain, placed, processes}, domains, ways);
}

}  // namespace toprun::placement
