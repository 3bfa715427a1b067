#include "decide/placement/grid_orders.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "decide/placement/segments.h"

namespace toprun::placement {
namespace {

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
    std::ranges::sort(sizes);
    sizes.erase(std::ranges::unique(sizes).begin(), sizes.end());
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

}  // namespace

std::vector<std::size_t> along_grid(const Slots& slots, const cost::Domains& domains,
                                    const cost::Ways& ways) {
  return Climber(slots, domains, ways).run();
}

void improve_by_swaps(const Slots& slots, const cost::Ways& ways, std::vector<std::size_t>& nodes) {
  if (ways.levels() > 0) Swapper(slots, ways, nodes).run();
}

}  // namespace toprun::placement
