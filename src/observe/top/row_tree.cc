#include "observe/top/row_tree.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

namespace toprun::top {

using snapshot::Picture;

namespace {

// "/spine1/leaf3/n5" -> "spine1/leaf3".
std::string rack_of(const std::string& location) {
  const std::size_t end = location.rfind('/');
  if (end == std::string::npos || end == 0) return "";
  const std::size_t begin = location.front() == '/' ? 1 : 0;
  return location.substr(begin, end - begin);
}

// With the precision of the columns: rows whose figures look equal keep their places.
double key_of(const Picture::Rank& rank, Sort sort) {
  constexpr double memory_step_mib = 102.4;  // 0.1 GiB
  switch (sort) {
    case Sort::cpu:
      return rank.busy_cpus ? std::round(10 * *rank.busy_cpus) : -1;
    case Sort::memory:
      if (!rank.memory_mib) return -1;
      return *rank.memory_mib < 1024
                 ? std::round(*rank.memory_mib)
                 : memory_step_mib * std::round(*rank.memory_mib / memory_step_mib);
    default:
      return rank.silence_s.value_or(-1);
  }
}

// The largest first, equal ones by their numbers.
std::vector<Row> sorted(const Picture& picture, Sort sort) {
  std::vector<std::pair<double, std::size_t>> order;
  order.reserve(picture.ranks.size());
  for (std::size_t rank = 0; rank < picture.ranks.size(); ++rank) {
    order.emplace_back(-key_of(picture.ranks[rank], sort), rank);
  }
  std::ranges::sort(order);
  std::vector<Row> rows;
  rows.reserve(order.size());
  for (const auto& [key, rank] : order) rows.push_back({{Kind::rank, rank}});
  return rows;
}

// The kinds that are open unless the user has folded them.
struct Open {
  bool racks = false;
  bool nodes = false;
};

Open what_fits(const Picture& picture, const Tree& tree, std::size_t lines) {
  const std::size_t nodes = tree.racks.size() + picture.nodes.size();
  return {nodes <= lines || tree.racks.size() <= 1, nodes + picture.ranks.size() <= lines};
}

class Rows {
 public:
  Rows(const Picture& picture, const Folds& folds, Open open)
      : picture_(picture), folds_(folds), open_(open) {}

  void add_rack(const Rack& rack, std::size_t number) {
    const bool is_open = is_open_at({Kind::rack, number}, open_.racks);
    rows_.push_back({{Kind::rack, number}, 0, is_open});
    if (!is_open) return;
    for (const std::size_t node : rack.nodes) add_node(node, 1);
  }
  void add_node(std::size_t node, std::size_t depth) {
    const bool is_open = is_open_at({Kind::node, node}, open_.nodes);
    rows_.push_back({{Kind::node, node}, depth, is_open});
    const Ranks ranks = ranks_of(picture_, node);
    for (std::size_t rank = ranks.first; is_open && rank < ranks.end; ++rank) {
      rows_.push_back({{Kind::rank, rank}, depth + 1});
    }
  }
  std::vector<Row> take() { return std::move(rows_); }

 private:
  bool is_open_at(Item item, bool otherwise) const {
    const auto chosen = folds_.find(item);
    return chosen == folds_.end() ? otherwise : chosen->second;
  }

  const Picture& picture_;
  const Folds& folds_;
  const Open open_;
  std::vector<Row> rows_;
};

}  // namespace

Tree tree_of(const Picture& picture) {
  Tree tree;
  std::unordered_map<std::string, std::size_t> known;
  for (std::size_t node = 0; node < picture.nodes.size(); ++node) {
    std::string name = rack_of(picture.nodes[node].location.raw());
    if (name.empty()) {
      tree.loose_nodes.push_back(node);
      continue;
    }
    const auto [item, is_new] = known.emplace(name, tree.racks.size());
    if (is_new) tree.racks.push_back({std::move(name), {}});
    tree.racks[item->second].nodes.push_back(node);
  }
  return tree;
}

Ranks ranks_of(const Picture& picture, std::size_t node) {
  const Picture::Node& one = picture.nodes[node];
  const std::size_t first = std::min(one.first_rank, picture.ranks.size());
  return {first, first + std::min(one.ranks, picture.ranks.size() - first)};
}

std::size_t node_of(const Picture& picture, std::size_t rank) {
  const auto has_it = [rank](const Picture::Node& node) {
    return rank >= node.first_rank && rank - node.first_rank < node.ranks;
  };
  return static_cast<std::size_t>(std::ranges::find_if(picture.nodes, has_it) -
                                  picture.nodes.begin());
}

std::vector<Row> rows_of(const Picture& picture, const Tree& tree, Sort sort, const Folds& folds,
                         std::size_t lines) {
  if (sort != Sort::order) return sorted(picture, sort);
  Rows rows(picture, folds, what_fits(picture, tree, lines));
  for (std::size_t rack = 0; rack < tree.racks.size(); ++rack) {
    rows.add_rack(tree.racks[rack], rack);
  }
  for (const std::size_t node : tree.loose_nodes) rows.add_node(node, 0);
  return rows.take();
}

}  // namespace toprun::top
