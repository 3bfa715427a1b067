#include "decide/placement/mapping.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <vector>

#include "base/text/sets.h"
#include "decide/placement/exact_mapping.h"
#include "decide/placement/segments.h"

namespace toprun::placement {
namespace {

// Limits for the work, as the number of visited edges.
constexpr std::size_t max_grid_visits = 1 << 26;

constexpr std::size_t max_swap_visits = 1 << 25;

using Indexes = std::vector<std::size_t>;

// The order in which the grid is traversed, innermost first: each entry takes the next prime factor
// of a dimension; the factors of one dimension follow each other from the inside.
using Walk = std::vector<std::size_t>;

std::vector<std::size_t> prime_factors(std::size_t number) {
  std::vector<std::size_t> primes;
  for (std::size_t prime = 2; prime * prime <= number; ++prime) {
    for (; number % prime == 0; number /= prime) primes.push_back(prime);
  }
  if (number > 1) primes.push_back(number);
  return primes;
}

class Grid {
 public:
  explicit Grid(std::span<const int> dimensions) {
    std::size_t stride = 1;
    for (const int dimension : dimensions) {
      if (dimension == 1) continue;
      primes_.push_back(prime_factors(static_cast<std::size_t>(dimension)));
      strides_.push_back(stride);
      stride *= static_cast<std::size_t>(dimension);
    }
  }

  // The walks that traverse one dimension after the other.
  std::vector<Walk> plain_walks() const {
    std::vector<std::size_t> dimensions(primes_.size());
    std::iota(dimensions.begin(), dimensions.end(), std::size_t{0});
    std::vector<Walk> walks;
    do {
      Walk walk;
      for (const std::size_t d : dimensions) walk.insert(walk.end(), primes_[d].size(), d);
      walks.push_back(std::move(walk));
    } while (std::ranges::next_permutation(dimensions).found);
    return walks;
  }

  // The slots in the order of the walk.
  Indexes slots(const Walk& walk) const {
    Indexes slots = {0};
    std::vector<std::size_t> taken(primes_.size());
    std::vector<std::size_t> stride = strides_;
    for (const std::size_t d : walk) {
      const std::size_t prime = primes_[d][taken[d]++];
      const std::size_t inner = slots.size();
      for (std::size_t i = 1; i < prime; ++i) {
        for (std::size_t k = 0; k < inner; ++k) slots.push_back(slots[k] + i * stride[d]);
      }
      stride[d] *= prime;
    }
    return slots;
  }

  // The number of slots of each prefix of the walk.
  std::vector<std::size_t> blocks(const Walk& walk) const {
    std::vector<std::size_t> sizes;
    std::vector<std::size_t> taken(primes_.size());
    std::size_t size = 1;
    for (const std::size_t d : walk) sizes.push_back(size *= primes_[d][taken[d]++]);
    return sizes;
  }

 private:
  std::vector<std::vector<std::size_t>> primes_;
  std::vector<std::size_t> strides_;
};

class Climber {
 public:
  Climber(const Slots& slots, const cost::Domains& domains, const cost::Ways& ways)
      : slots_(slots), domains_(domains), ways_(ways), grid_(slots.dimensions) {}

  Indexes run() {
    const std::vector<Walk> walks = grid_.plain_walks();
    const Indexes plain(slots_.plain.begin(), slots_.plain.end());
    for (const Walk& walk : walks) consider(walk, plain);
    climb();
    // A domain of uneven size shifts all blocks behind it, except with nodes in segments.
    Indexes sizes;
    for (const Walk& walk : walks) append(sizes, grid_.blocks(walk));
    append(sizes, grid_.blocks(best_walk_));
    sort_distinct(sizes);
    std::vector<Walk> tried = walks;
    tried.push_back(best_walk_);
    for (const std::size_t size : sizes) {
      const Indexes nodes = segmented(size);
      if (nodes == plain) continue;
      for (const Walk& walk : tried) consider(walk, nodes);
    }
    climb();
    return best_;
  }

 private:
  static void append(Indexes& all, const Indexes& more) {
    all.insert(all.end(), more.begin(), more.end());
  }

  Indexes segmented(std::size_t size) const {
    Indexes nodes = in_segments(slots_.plain.first(slots_.placed), domains_, size);
    nodes.insert(nodes.end(), slots_.plain.begin() + static_cast<std::ptrdiff_t>(slots_.placed),
                 slots_.plain.end());
    return nodes;
  }

  bool consider(const Walk& walk, const Indexes& nodes) {
    visits_ += slots_.graph.edges.size() + nodes.size();
    if (!best_.empty() && visits_ > max_grid_visits) return false;
    const Indexes order = grid_.slots(walk);
    Indexes by_slot(nodes.size());
    for (std::size_t i = 0; i < order.size(); ++i) by_slot[order[i]] = nodes[i];
    const double cost = cost_of(slots_.graph, ways_, by_slot);
    if (!best_.empty() && cost >= best_cost_) return false;
    best_cost_ = cost;
    best_ = std::move(by_slot);
    best_walk_ = walk;
    best_nodes_ = nodes;
    return true;
  }

  // Moves single factors to other places in the walk as long as that lowers the cost.
  void climb() {
    for (bool better = true; better;) {
      better = false;
      const Walk from = best_walk_;
      const Indexes nodes = best_nodes_;
      for (std::size_t i = 0; i < from.size(); ++i) {
        for (std::size_t j = 0; j < from.size(); ++j) {
          Walk walk = from;
          walk.erase(walk.begin() + static_cast<std::ptrdiff_t>(i));
          walk.insert(walk.begin() + static_cast<std::ptrdiff_t>(j), from[i]);
          if (walk != from && consider(walk, nodes)) better = true;
        }
      }
    }
  }

  const Slots& slots_;
  const cost::Domains& domains_;
  const cost::Ways& ways_;
  const Grid grid_;
  std::size_t visits_ = 0;
  Walk best_walk_;
  Indexes best_nodes_;
  Indexes best_;
  double best_cost_ = 0;
};

class Swapper {
 public:
  Swapper(const Slots& slots, const cost::Ways& ways, Indexes& nodes)
      : slots_(slots), ways_(ways), nodes_(nodes), slot_on_(nodes.size()) {
    for (std::size_t s = 0; s < nodes.size(); ++s) {
      slot_on_[nodes[s]] = s;
      if (ways.levels() > 0) inside_[innermost(nodes[s])].push_back(nodes[s]);
    }
  }

  void run() {
    for (bool better = true; better && visits_ < max_swap_visits;) {
      better = false;
      for (std::size_t s = 0; s < nodes_.size() && visits_ < max_swap_visits; ++s) {
        if (improve(s)) better = true;
      }
    }
  }

 private:
  std::uint32_t innermost(std::size_t node) const { return ways_.domain(node, ways_.levels() - 1); }

  // Does the best exchange that moves the slot into the domain of a slot that it sends to.
  bool improve(std::size_t slot) {
    double best_gain = cost_at(slot, nodes_[slot]) * least_gain;
    std::size_t best = slot;
    std::vector<std::uint32_t> tried = {innermost(nodes_[slot])};
    for (const cost::Graph::Edge& edge : slots_.graph.of(slot)) {
      const std::uint32_t domain = innermost(nodes_[edge.to]);
      if (std::ranges::count(tried, domain) > 0) continue;
      tried.push_back(domain);
      for (const std::size_t node : inside_.at(domain)) {
        if (slots_.processes[node] != slots_.processes[nodes_[slot]]) continue;
        const std::size_t other = slot_on_[node];
        const double gain = gain_of(slot, other);
        if (gain <= best_gain) continue;
        best_gain = gain;
        best = other;
      }
    }
    if (best == slot) return false;
    std::swap(nodes_[slot], nodes_[best]);
    slot_on_[nodes_[slot]] = slot;
    slot_on_[nodes_[best]] = best;
    return true;
  }

  double cost_at(std::size_t slot, std::size_t node) {
    double cost = 0;
    for (const cost::Graph::Edge& edge : slots_.graph.of(slot)) {
      cost += edge.bytes * ways_.between(node, nodes_[edge.to]);
    }
    visits_ += slots_.graph.of(slot).size();
    return cost;
  }

  double gain_of(std::size_t a, std::size_t b) {
    double gain = cost_at(a, nodes_[a]) + cost_at(b, nodes_[b]);
    std::swap(nodes_[a], nodes_[b]);
    gain -= cost_at(a, nodes_[a]) + cost_at(b, nodes_[b]);
    std::swap(nodes_[a], nodes_[b]);
    return gain;
  }

  // relative to the cost; smaller gains are rounding errors
  static constexpr double least_gain = 1e-9;

  const Slots& slots_;
  const cost::Ways& ways_;
  Indexes& nodes_;
  Indexes slot_on_;  // by node
  std::map<std::uint32_t, Indexes> inside_;
  std::size_t visits_ = 0;
};

// The best assignment that follows from a grid of slots, improved by exchanges of nodes (see
// map_slots()). The result contains the node for each slot. The assignment may be worse than the
// plain order.
std::vector<std::size_t> along_grid(const Slots& slots, const cost::Domains& domains,
                                    const cost::Ways& ways) {
  return Climber(slots, domains, ways).run();
}

// Exchanges pairs of nodes as long as an exchange lowers the cost. Visits at most max_swap_visits
// edges.
void improve_by_swaps(const Slots& slots, const cost::Ways& ways, std::vector<std::size_t>& nodes) {
  if (ways.levels() > 0) Swapper(slots, ways, nodes).run();
}

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
