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

constexpr std::size_t share_of_failed = 4;  // of the rows

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
  Rows(const Picture& picture, const Tree& tree, const Folds& folds, std::size_t lines)
      : picture_(picture),
        tree_(tree),
        folds_(folds),
        open_(what_fits(picture, tree, lines)),
        failed_left_(lines / share_of_failed) {
    const std::optional<model::Cause>& cause = model::last_attempt(picture.run).cause;
    if (cause) first_failed_ = cause->rank.value_or(-1);
  }

  void add_rack(std::size_t number) {
    const bool is_open = add({Kind::rack, number}, 0, open_.racks);
    for (const std::size_t node : tree_.racks[number].nodes) {
      if (is_open || keeps_failed({Kind::rack, number}, {Kind::node, node})) add_node(node, 1);
    }
  }
  void add_node(std::size_t node, std::size_t depth) {
    const bool is_open = add({Kind::node, node}, depth, open_.nodes);
    const Ranks ranks = ranks_of(picture_, node);
    for (std::size_t rank = ranks.first; rank < ranks.end; ++rank) {
      const Item item{Kind::rank, rank};
      if (!is_open && !keeps_failed({Kind::node, node}, item)) continue;
      if (!is_open && std::cmp_not_equal(rank, first_failed_)) --failed_left_;
      rows_.push_back({item, depth + 1});
    }
  }
  std::vector<Row> take() { return std::move(rows_); }

 private:
  bool add(Item item, std::size_t depth, bool otherwise) {
    const auto chosen = folds_.find(item);
    rows_.push_back({item, depth, chosen == folds_.end() ? otherwise : chosen->second});
    return rows_.back().is_open;
  }
  // Whether a part of what is not open has a row nevertheless.
  bool keeps_failed(Item around, Item part) const {
    if (folds_.contains(around) || !has_failed(picture_, tree_, part)) return false;
    const bool is_rank = part.kind == Kind::rank;
    const std::size_t rank = is_rank ? part.number : picture_.nodes[part.number].first_rank;
    const std::size_t end = is_rank ? rank + 1 : ranks_of(picture_, part.number).end;
    const bool is_first =
        std::cmp_greater_equal(first_failed_, rank) && std::cmp_less(first_failed_, end);
    return is_first || failed_left_ > 0;
  }

  const Picture& picture_;
  const Tree& tree_;
  const Folds& folds_;
  const Open open_;
  std::size_t failed_left_;
  int first_failed_ = -1;
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

bool has_failed(const Picture& picture, const Tree& tree, Item item) {
  if (item.kind == Kind::rack) {
    return std::ranges::any_of(tree.racks[item.number].nodes, [&](std::size_t node) {
      return has_failed(picture, tree, {Kind::node, node});
    });
  }
  const Ranks ranks = item.kind == Kind::node ? ranks_of(picture, item.number)
                                              : Ranks{item.number, item.number + 1};
  return std::any_of(
      picture.ranks.begin() + static_cast<std::ptrdiff_t>(ranks.first),
      picture.ranks.begin() + static_cast<std::ptrdiff_t>(ranks.end),
      [](const Picture::Rank& rank) { return rank.state == snapshot::RankState::failed; });
}

std::vector<Row> rows_of(const Picture& picture, const Tree& tree, Sort sort, const Folds& folds,
                         std::size_t lines) {
  if (sort != Sort::order) return sorted(picture, sort);
  Rows rows(picture, tree, folds, lines);
  for (std::size_t rack = 0; rack < tree.racks.size(); ++rack) rows.add_rack(rack);
  for (const std::size_t node : tree.loose_nodes) rows.add_node(node, 0);
  return rows.take();
}

}  // namespace toprun::top
