#include "decide/placement/exact_mapping.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace toprun::placement {
namespace {

using Indexes = std::vector<std::size_t>;

constexpr std::size_t none = static_cast<std::size_t>(-1);

// Equal nodes: same innermost domain, same number of processes.
struct Cell {
  Indexes nodes;
  int processes;
  Indexes around;  // the domains around it, outermost first
};

struct Domain {
  std::size_t parent = none;
  // equal for two domains if and only if their content has the same structure
  std::vector<std::size_t> shape;
  std::size_t equal_sibling = none;  // the previous sibling with the same shape
};

// The tree of domains with cells as its leaves.
struct Tree {
  std::vector<Domain> domains;
  std::vector<Cell> cells;
};

// Numbers the shapes, so that a shape can contain the numbers of inner shapes.
class Shapes {
 public:
  std::size_t of(const std::vector<std::size_t>& shape) {
    return numbers_.emplace(shape, numbers_.size()).first->second;
  }

 private:
  std::map<std::vector<std::size_t>, std::size_t> numbers_;
};

Tree tree_of(const Slots& slots, const cost::Ways& ways) {
  Tree tree;
  std::map<std::pair<std::size_t, std::uint32_t>, std::size_t> domain_at;
  std::map<std::pair<std::size_t, int>, std::size_t> cell_at;
  for (const std::size_t node : slots.plain) {
    Indexes around;
    for (std::size_t level = 0; level < ways.levels(); ++level) {
      const auto [at, is_new] =
          domain_at.emplace(std::pair(level, ways.domain(node, level)), tree.domains.size());
      if (is_new) tree.domains.push_back({around.empty() ? none : around.back(), {}, none});
      around.push_back(at->second);
    }
    const auto [at, is_new] =
        cell_at.emplace(std::pair(around.back(), slots.processes[node]), tree.cells.size());
    if (is_new) tree.cells.push_back({{}, slots.processes[node], around});
    tree.cells[at->second].nodes.push_back(node);
  }
  return tree;
}

// A domain's shape: the depth of its level, then the sorted numbers of its inner shapes. Outer
// domains come before inner ones, so a backward loop processes the inner ones first.
void find_equal_siblings(Tree& tree) {
  Shapes shapes;
  for (const Cell& cell : tree.cells) {
    tree.domains[cell.around.back()].shape.push_back(
        shapes.of({static_cast<std::size_t>(cell.processes), cell.nodes.size()}));
  }
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> next;  // by parent and shape
  for (std::size_t d = tree.domains.size(); d-- > 0;) {
    Domain& domain = tree.domains[d];
    std::ranges::sort(domain.shape);
    domain.shape.insert(domain.shape.begin(), none);  // distinguishes it from a cell's shape
    const std::size_t number = shapes.of(domain.shape);
    if (domain.parent != none) tree.domains[domain.parent].shape.push_back(number);
    auto& later = next.emplace(std::pair(domain.parent, number), none).first->second;
    if (later != none) tree.domains[later].equal_sibling = d;
    later = d;
  }
}

double log_factorial(double n) {
  return std::lgamma(n + 1);
}

// The logarithm of the number of assignments, where equal assignments count once.
double log_assignments(const Tree& tree) {
  double result = 0;
  std::map<int, double> slots_of;
  for (const Cell& cell : tree.cells) {
    const auto nodes = static_cast<double>(cell.nodes.size());
    slots_of[cell.processes] += nodes;
    result -= log_factorial(nodes);
  }
  for (const auto& [processes, slots] : slots_of) result += log_factorial(slots);
  // k equal siblings divide the number by k!: the i-th of them by i.
  std::vector<double> place(tree.domains.size(), 1);
  for (std::size_t d = 0; d < tree.domains.size(); ++d) {
    const std::size_t equal_sibling = tree.domains[d].equal_sibling;
    if (equal_sibling == none) continue;
    place[d] = place[equal_sibling] + 1;
    result -= std::log(place[d]);
  }
  return result;
}

// Starts with the first slot, then always adds the slot that sends most to those before it.
Indexes by_connection(const cost::Graph& graph) {
  Indexes order;
  std::vector<double> pull(graph.slots(), 0);
  std::vector<bool> taken(graph.slots());
  while (order.size() < graph.slots()) {
    std::size_t best = none;
    for (std::size_t s = 0; s < graph.slots(); ++s) {
      if (!taken[s] && (best == none || pull[s] > pull[best])) best = s;
    }
    order.push_back(best);
    taken[best] = true;
    for (const cost::Graph::Edge& edge : graph.of(best)) pull[edge.to] += edge.bytes;
  }
  return order;
}

// The graph without the first slots of an order, as input of bound_of().
cost::Graph without_first(const cost::Graph& graph, const Indexes& order, std::size_t first) {
  std::vector<bool> left(graph.slots());
  for (std::size_t k = first; k < order.size(); ++k) left[order[k]] = true;
  cost::Graph rest;
  rest.first.push_back(0);
  for (std::size_t s = 0; s < graph.slots(); ++s) {
    for (const cost::Graph::Edge& edge : graph.of(s)) {
      if (left[s] && left[edge.to]) rest.edges.push_back(edge);
    }
    rest.first.push_back(rest.edges.size());
  }
  return rest;
}

class Search {
 public:
  Search(const Slots& slots, const cost::Ways& ways, Tree tree, double than, std::size_t max)
      : slots_(slots),
        tree_(std::move(tree)),
        order_(by_connection(slots.graph)),
        cells_(tree_.cells.size()),
        best_(than),
        states_left_(max),
        used_(tree_.domains.size()),
        free_(cells_),
        at_(order_.size()) {
    const std::size_t n = order_.size();
    for (std::size_t c = 0; c < cells_; ++c) {
      free_[c] = tree_.cells[c].nodes.size();
      for (std::size_t d = 0; d < cells_; ++d) {
        // A cell with one node has no inner way, and the search does not use it.
        seconds_.push_back(
            ways.between(tree_.cells[c].nodes.front(), tree_.cells[d].nodes.front()));
      }
    }
    for (std::size_t k = 0; k <= n; ++k) {
      least_of_rest_.push_back(k == n ? 0 : bound_of(without_first(slots.graph, order_, k), ways));
    }
    Indexes position(n);
    for (std::size_t k = 0; k < n; ++k) position[order_[k]] = k;
    for (std::size_t k = 0; k < n; ++k) {
      auto& later = later_.emplace_back();
      for (const cost::Graph::Edge& edge : slots.graph.of(order_[k])) {
        if (position[edge.to] > k) later.emplace_back(position[edge.to], edge.bytes);
      }
    }
    // costs_ by depth: the cost of every slot in each cell because of the slots before it.
    costs_.assign(n + 1, std::vector<double>(n * cells_, 0));
  }

  std::optional<Searched> run() {
    if (!place_from(0, 0)) return std::nullopt;
    return Searched{std::move(found_)};
  }

 private:
  // Returns false if there are too many states.
  bool place_from(std::size_t k, double cost) {
    if (k == order_.size()) {
      best_ = cost;
      remember();
      return true;
    }
    for (std::size_t c = 0; c < cells_; ++c) {
      if (!may_take(k, c)) continue;
      const double with = cost + costs_[k][k * cells_ + c];
      if (!promising(with + least_of_rest_[k + 1])) continue;
      if (states_left_-- == 0) return false;
      take(k, c);
      const bool done = !promising(with + least_of_rest_[k + 1] + least_to_placed(k + 1)) ||
                        place_from(k + 1, with);
      give_back(c);
      if (!done) return false;
    }
    return true;
  }

  bool promising(double least) const { return least < best_ * (1 - rounding); }

  // Among empty equal siblings, the search tries only the first.
  bool may_take(std::size_t k, std::size_t c) const {
    if (free_[c] == 0 || processes_of(k) != tree_.cells[c].processes) return false;
    return std::ranges::none_of(tree_.cells[c].around, [&](std::size_t d) {
      const std::size_t equal_sibling = tree_.domains[d].equal_sibling;
      return used_[d] == 0 && equal_sibling != none && used_[equal_sibling] == 0;
    });
  }

  int processes_of(std::size_t k) const { return slots_.processes[slots_.plain[order_[k]]]; }

  void take(std::size_t k, std::size_t c) {
    --free_[c];
    for (const std::size_t d : tree_.cells[c].around) ++used_[d];
    at_[k] = c;
    const auto rest = static_cast<std::ptrdiff_t>((k + 1) * cells_);
    std::copy(costs_[k].begin() + rest, costs_[k].end(), costs_[k + 1].begin() + rest);
    for (const auto& [position, bytes] : later_[k]) {
      for (std::size_t d = 0; d < cells_; ++d) {
        costs_[k + 1][position * cells_ + d] += bytes * seconds_[c * cells_ + d];
      }
    }
  }

  void give_back(std::size_t c) {
    ++free_[c];
    for (const std::size_t d : tree_.cells[c].around) --used_[d];
  }

  // The minimum cost of the slots from k on because of the slots before them, each separately.
  double least_to_placed(std::size_t k) const {
    double sum = 0;
    for (std::size_t later = k; later < order_.size(); ++later) {
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t c = 0; c < cells_; ++c) {
        if (free_[c] > 0 && processes_of(later) == tree_.cells[c].processes) {
          least = std::min(least, costs_[k][later * cells_ + c]);
        }
      }
      sum += least;
    }
    return sum;
  }

  void remember() {
    Indexes taken(cells_);
    found_.assign(order_.size(), 0);
    for (std::size_t k = 0; k < order_.size(); ++k) {
      found_[order_[k]] = tree_.cells[at_[k]].nodes[taken[at_[k]]++];
    }
  }

  const Slots& slots_;
  const Tree tree_;
  const Indexes order_;  // of the slots, in the order of placement
  const std::size_t cells_;
  double best_;
  std::size_t states_left_;
  Indexes used_;                 // number of slots in each domain
  Indexes free_;                 // number of free nodes in each cell
  Indexes at_;                   // cell by position in order_
  std::vector<double> seconds_;  // per byte, between cells
  std::vector<double> least_of_rest_;
  std::vector<std::vector<std::pair<std::size_t, double>>> later_;
  std::vector<std::vector<double>> costs_;
  Indexes found_;
};

}  // namespace

std::optional<Searched> search_all(const Slots& slots, const cost::Ways& ways, double than) {
  if (slots.graph.slots() > max_exact_slots) return std::nullopt;
  Tree tree = tree_of(slots, ways);
  find_equal_siblings(tree);
  const bool all = log_assignments(tree) <= std::log(max_assignments);
  return Search(slots, ways, std::move(tree), than, all ? none : max_states).run();
}

}  // namespace toprun::placement
