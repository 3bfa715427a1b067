#include "placement/plan.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "placement/ways.h"

namespace toprun::placement {
namespace {

// The grid of ranks without what each node has for itself, innermost first. Where a node does not
// hold whole rows of it, the slots are a grid of one dimension.
std::vector<int> dimensions_of_slots(const Layout& layout, int processes, std::size_t slots) {
  std::vector<int> dimensions;
  for (const Kind kind : layout.order) {
    if (kind == Kind::ep) continue;  // a part of dp's ranks, or of cp's or tp's
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
    return usage("--parallel", fmt::format("the job has {} ranks, from 1 to {} can be planned",
                                           world, max_planned_ranks));
  }
  auto layout = layout_of(plan.parallel, static_cast<int>(world));
  if (!layout) return std::unexpected(layout.error());
  auto links = links_of(map, plan.links, std::max(1, std::ranges::max(processes)));
  if (!links) return std::unexpected(links.error());
  const Traffic traffic =
      traffic_of(*layout, plan.parameters.value_or(default_parameters), plan.traffic);
  std::vector<Kind> kinds = kinds_of(*layout);
  return Prepared{*std::move(layout), std::move(kinds), traffic, *std::move(links)};
}

std::vector<std::uint32_t> slots_of_ranks(std::span<const int> processes) {
  std::vector<std::uint32_t> slots;
  for (std::size_t s = 0; s < processes.size(); ++s) {
    slots.insert(slots.end(), static_cast<std::size_t>(processes[s]),
                 static_cast<std::uint32_t>(s));
  }
  return slots;
}

std::optional<Mapping> map_nodes(const Prepared& prepared, std::span<const std::size_t> plain,
                                 std::size_t placed, const Domains& domains,
                                 std::span<const int> processes) {
  std::vector<int> by_slot;
  for (const std::size_t node : plain) by_slot.push_back(processes[node]);
  const auto graph = graph_of(prepared.layout, prepared.traffic, prepared.kinds,
                              slots_of_ranks(by_slot), plain.size());
  if (!graph) return std::nullopt;
  const bool equal =
      std::ranges::count(by_slot, by_slot.front()) == static_cast<std::ptrdiff_t>(by_slot.size());
  std::vector<int> dimensions;
  if (equal) dimensions = dimensions_of_slots(prepared.layout, by_slot.front(), plain.size());
  const Ways ways(domains, plain.size(), prepared.links);
  return map_slots({*graph, dimensions, plain, placed, processes}, domains, ways);
}

}  // namespace toprun::placement
