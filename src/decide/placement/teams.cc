#include "decide/placement/teams.h"

#include <algorithm>
#include <numeric>

namespace toprun::placement {
namespace {

// Disjoint sets that can only grow; one of its members identifies a set.
class Sets {
 public:
  explicit Sets(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t find(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::size_t a, std::size_t b) { parent_[find(a)] = find(b); }

 private:
  std::vector<std::size_t> parent_;
};

std::vector<std::size_t> nodes_of_ranks(const Placement& placement) {
  std::vector<std::size_t> nodes;
  for (std::size_t i = 0; i < placement.nodes.size(); ++i) {
    nodes.insert(nodes.end(), static_cast<std::size_t>(placement.nodes[i].nproc), i);
  }
  return nodes;
}

Teams teams_of_kind(const Placement& placement, const cost::Layout& layout, cost::Kind kind) {
  const std::vector<std::size_t> node_of = nodes_of_ranks(placement);
  const cost::Groups groups = cost::groups_of(layout, kind);
  Sets sets(placement.nodes.size());
  for (std::size_t g = 0; g < groups.bases.size(); ++g) {
    const std::size_t first = node_of[static_cast<std::size_t>(groups.rank(g, 0))];
    for (std::size_t i = 1; i < groups.offsets.size(); ++i) {
      sets.join(node_of[static_cast<std::size_t>(groups.rank(g, i))], first);
    }
  }
  Teams teams{kind, 0, {}};
  std::vector<std::optional<std::size_t>> number(placement.nodes.size());
  for (std::size_t i = 0; i < placement.nodes.size(); ++i) {
    std::optional<std::size_t>& known = number[sets.find(i)];
    if (!known) known = teams.count++;
    teams.of_node.push_back(*known);
  }
  return teams;
}

}  // namespace

std::optional<Teams> teams_of(const Placement& placement, const Prepared& prepared,
                              std::optional<cost::Kind> kind) {
  std::vector<cost::Kind> kinds = kind ? std::vector{*kind} : prepared.kinds;
  std::ranges::stable_sort(kinds, std::greater(),
                           [&](cost::Kind each) { return prepared.traffic.of(each); });
  std::optional<Teams> one_team;
  for (const cost::Kind each : kinds) {
    Teams teams = teams_of_kind(placement, prepared.layout, each);
    if (teams.count == placement.nodes.size()) continue;
    if (teams.count > 1) return teams;
    if (!one_team) one_team = std::move(teams);
  }
  return one_team;
}

}  // namespace toprun::placement
