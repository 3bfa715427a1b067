#include "bench/pairs/speed_groups.h"

#include <algorithm>
#include <numeric>

#include "bench/tables/statistics.h"

namespace toprun::pairs {
namespace {

// Of the best pace of both nodes: a pair that reaches so much of it is within a group, and what is
// between groups reaches less.
constexpr double near_share = 0.7;

double slower_pace(const Measured& pair) {
  return std::min(pace(pair, 0, Figure::rate), pace(pair, 1, Figure::rate));
}

// Sets that are joined, each named by its lowest node.
class Sets {
 public:
  explicit Sets(std::size_t nodes) : parent_(nodes) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  std::size_t of(std::size_t node) {
    while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
    return node;
  }
  void join(std::size_t a, std::size_t b) {
    const auto [low, high] = std::minmax({of(a), of(b)});
    parent_[high] = low;
  }

 private:
  std::vector<std::size_t> parent_;
};

}  // namespace

std::vector<SpeedGroup> speed_groups(std::size_t nodes, std::span<const Measured> measured) {
  std::vector<double> best(nodes);
  for (const Measured& pair : measured) {
    for (const std::size_t node : {pair.a, pair.b}) {
      best[node] = std::max(best[node], slower_pace(pair));
    }
  }
  Sets sets(nodes);
  for (const Measured& pair : measured) {
    const double reached = slower_pace(pair);
    if (reached > 0 && reached >= near_share * std::max(best[pair.a], best[pair.b])) {
      sets.join(pair.a, pair.b);
    }
  }
  std::vector<std::vector<double>> inside(nodes);  // by set
  std::vector<std::vector<double>> outside(nodes);
  for (const Measured& pair : measured) {
    const std::size_t a = sets.of(pair.a);
    const std::size_t b = sets.of(pair.b);
    if (a == b) {
      inside[a].push_back(slower_pace(pair));
    } else {
      outside[a].push_back(slower_pace(pair));
      outside[b].push_back(slower_pace(pair));
    }
  }
  std::vector<SpeedGroup> groups;
  for (std::size_t set = 0; set < nodes; ++set) {
    if (inside[set].empty() || outside[set].empty()) continue;
    SpeedGroup group{{}, bench::median(inside[set]), bench::median(outside[set])};
    if (group.outside >= near_share * group.inside) continue;
    for (std::size_t node = 0; node < nodes; ++node) {
      if (sets.of(node) == set) group.nodes.push_back(node);
    }
    groups.push_back(std::move(group));
  }
  if (groups.size() < 2) groups.clear();
  return groups;
}

std::vector<DomainPath> places_of(const Cluster& cluster, std::span<const SpeedGroup> groups) {
  std::vector<DomainPath> places(cluster.names.size());
  for (const SpeedGroup& group : groups) {
    for (const std::size_t node : group.nodes) places[node] = {cluster.names[group.nodes.front()]};
  }
  return places;
}

}  // namespace toprun::pairs
