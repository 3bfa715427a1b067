#include "decide/topology/dragonfly.h"

#include <algorithm>
#include <set>

#include "base/text/sets.h"

namespace toprun::topology {
namespace {

using Index = std::size_t;
using Neighbours = std::vector<std::vector<Index>>;  // ascending, without duplicates

constexpr std::size_t max_checked_groups = 200'000'000;
constexpr std::size_t least_group = 3;  // two switches and a cable occur in any network

Neighbours neighbours_of(const std::vector<FabricSwitch>& switches) {
  Neighbours near(switches.size());
  for (Index i = 0; i < switches.size(); ++i) {
    for (const Index peer : switches[i].peers) {
      if (peer == i) continue;
      near[i].push_back(peer);
      near[peer].push_back(i);
    }
  }
  for (auto& all : near) sort_distinct(all);
  return near;
}

std::size_t in_common(const std::vector<Index>& a, const std::vector<Index>& b) {
  std::size_t count = 0;
  for (auto i = a.begin(), k = b.begin(); i != a.end() && k != b.end();) {
    if (*i == *k) ++count;
    const bool first = *i <= *k;
    const bool second = *k <= *i;
    if (first) ++i;
    if (second) ++k;
  }
  return count;
}

class Groups {
 public:
  explicit Groups(const Neighbours& near) : near_(near), shared_(near.size()), most_(near.size()) {
    for (Index i = 0; i < near.size(); ++i) {
      for (const Index peer : near[i]) {
        shared_[i].push_back(in_common(near[i], near[peer]));
        most_[i] = std::max(most_[i], shared_[i].back());
      }
    }
  }

  // Finds one group after another, each from its first switch.
  std::vector<Index> run() const {
    std::vector<Index> group_of(near_.size(), no_group);
    std::size_t groups = 0;
    std::size_t inside = 0;
    for (Index i = 0; i < near_.size(); ++i) {
      if (group_of[i] != no_group) continue;
      const std::vector<Index> group = spread(i);
      if (group.size() < least_group) continue;
      if (!is_meshed(group)) return {};
      for (const Index member : group) group_of[member] = groups;
      inside += group.size();
      ++groups;
    }
    const bool most_inside = 4 * inside >= 3 * near_.size();
    return groups >= 2 && most_inside ? group_of : std::vector<Index>{};
  }

 private:
  bool is_local(Index from, std::size_t edge) const {
    const std::size_t shared = shared_[from][edge];
    return shared > 0 && 2 * shared > most_[from] && 2 * shared > most_[near_[from][edge]];
  }

  std::vector<Index> spread(Index start) const {
    std::vector<Index> found = {start};
    std::set<Index> seen = {start};
    for (std::size_t done = 0; done < found.size(); ++done) {
      const Index from = found[done];
      for (std::size_t edge = 0; edge < near_[from].size(); ++edge) {
        if (is_local(from, edge) && seen.insert(near_[from][edge]).second) {
          found.push_back(near_[from][edge]);
        }
      }
    }
    return found;
  }

  // Whether at least three of four pairs have a cable.
  bool is_meshed(const std::vector<Index>& group) const {
    const std::set<Index> members(group.begin(), group.end());
    std::size_t ends = 0;
    for (const Index member : group) {
      ends += static_cast<std::size_t>(
          std::ranges::count_if(near_[member], [&](Index peer) { return members.contains(peer); }));
    }
    return 4 * ends >= 3 * group.size() * (group.size() - 1);
  }

  const Neighbours& near_;
  // same shape as near_: number of common neighbours
  std::vector<std::vector<std::size_t>> shared_;
  std::vector<std::size_t> most_;
};

}  // namespace

std::vector<std::size_t> dragonfly_groups(const std::vector<FabricSwitch>& switches) {
  const Neighbours near = neighbours_of(switches);
  std::size_t comparisons = 0;
  for (const auto& all : near) {
    for (const Index peer : all) comparisons += all.size() + near[peer].size();
  }
  if (comparisons > max_checked_groups) return {};
  return Groups(near).run();
}

}  // namespace toprun::topology
