#include "decide/placement/mapping.h"

#include <algorithm>
#include <map>

#include "decide/placement/exact_mapping.h"
#include "decide/placement/grid_orders.h"

namespace toprun::placement {
namespace {

using Indexes = std::vector<std::size_t>;

bool is_less(double a, double b) {
  return a < b * (1 - rounding);
}

// By n: the bytes that a slot sends to the n slots to which it sends most.
std::vector<std::vector<double>> heaviest_sums(const cost::Graph& graph) {
  std::vector<std::vector<double>> sums(graph.slots());
  for (std::size_t s = 0; s < graph.slots(); ++s) {
    for (const cost::Graph::Edge& edge : graph.of(s)) sums[s].push_back(edge.bytes);
    std::ranges::sort(sums[s], std::greater());
    sums[s].insert(sums[s].begin(), 0);
    for (std::size_t i = 1; i < sums[s].size(); ++i) sums[s][i] += sums[s][i - 1];
  }
  return sums;
}

double sum_of_first(const std::vector<double>& sums, std::size_t count) {
  return sums[std::min(count, sums.size() - 1)];
}

// The minimum number of bytes that leave the domains of a level, counted at both ends.
double least_leaving(const std::vector<std::vector<double>>& sums,
                     const std::map<std::uint32_t, std::size_t>& sizes) {
  std::size_t largest = 0;
  for (const auto& [domain, size] : sizes) largest = std::max(largest, size);
  double by_slot = 0;
  for (const auto& slot : sums) by_slot += slot.back() - sum_of_first(slot, largest - 1);

  std::map<std::size_t, double> least_of;  // by size of the domain: the minimum of all slots
  double by_domain = 0;
  for (const auto& [domain, size] : sizes) {
    auto [least, is_new] = least_of.emplace(size, 0);
    for (std::size_t s = 0; is_new && s < sums.size(); ++s) {
      const double leaving = sums[s].back() - sum_of_first(sums[s], size - 1);
      least->second = s == 0 ? leaving : std::min(least->second, leaving);
    }
    by_domain += static_cast<double>(size) * least->second;
  }
  return std::max(by_slot, by_domain);
}

// Exchanging slots between equal nodes of a domain does not change the cost, so these slots use the
// nodes in the plain order.
Indexes with_equal_nodes_in_order(const Slots& slots, const cost::Ways& ways,
                                  const Indexes& nodes) {
  using Cell = std::pair<std::uint32_t, int>;
  const auto cell_of = [&](std::size_t node) {
    return Cell(ways.domain(node, ways.levels() - 1), slots.processes[node]);
  };
  std::map<Cell, Indexes> waiting;
  for (const std::size_t node : slots.plain) waiting[cell_of(node)].push_back(node);
  std::map<Cell, std::size_t> taken;
  Indexes ordered;
  for (const std::size_t node : nodes) {
    const Cell cell = cell_of(node);
    ordered.push_back(waiting[cell][taken[cell]++]);
  }
  return ordered;
}

}  // namespace

double cost_of(const cost::Graph& graph, const cost::Ways& ways,
               std::span<const std::size_t> nodes) {
  double cost = 0;
  for (std::size_t s = 0; s < graph.slots(); ++s) {
    for (const cost::Graph::Edge& edge : graph.of(s)) {
      if (edge.to > s) cost += edge.bytes * ways.between(nodes[s], nodes[edge.to]);
    }
  }
  return cost;
}

double bound_of(const cost::Graph& graph, const cost::Ways& ways) {
  const auto sums = heaviest_sums(graph);
  double total = 0;
  for (const auto& slot : sums) total += slot.back();
  double bound = total * ways.seconds(ways.levels());
  for (std::size_t level = 0; level < ways.levels(); ++level) {
    std::map<std::uint32_t, std::size_t> sizes;
    for (std::size_t node = 0; node < ways.nodes(); ++node) ++sizes[ways.domain(node, level)];
    bound += (ways.seconds(level) - ways.seconds(level + 1)) * least_leaving(sums, sizes);
  }
  return bound / 2;
}

Mapping map_slots(const Slots& slots, const cost::Domains& domains, const cost::Ways& ways) {
  Mapping mapping{{slots.plain.begin(), slots.plain.end()}, 0, 0, 0, true};
  mapping.plain = mapping.cost = cost_of(slots.graph, ways, mapping.nodes);
  mapping.bound = bound_of(slots.graph, ways);
  if (!is_less(mapping.bound, mapping.plain)) return mapping;

  const auto take_if_better = [&](Indexes nodes) {
    const double cost = cost_of(slots.graph, ways, nodes);
    if (!is_less(cost, mapping.cost)) return;
    mapping.cost = cost;
    mapping.nodes = with_equal_nodes_in_order(slots, ways, nodes);
  };
  if (!slots.dimensions.empty()) take_if_better(along_grid(slots, domains, ways));
  Indexes swapped = mapping.nodes;
  improve_by_swaps(slots, ways, swapped);
  take_if_better(std::move(swapped));

  if (!is_less(mapping.bound, mapping.cost)) return mapping;
  const auto searched = search_all(slots, ways, mapping.cost);
  mapping.exact = searched.has_value();
  if (searched && !searched->nodes.empty()) take_if_better(searched->nodes);
  return mapping;
}

}  // namespace toprun::placement
