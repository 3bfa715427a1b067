#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "decide/recorder/recorder_verdict.h"

namespace toprun::recorder {
namespace {

std::set<int> ranks_in(const GroupSummary& group) {
  std::set<int> ranks;
  for (const Reach& reach : group.reached) ranks.insert(reach.ranks.begin(), reach.ranks.end());
  for (const Call& call : group.calls) ranks.insert(call.ranks.begin(), call.ranks.end());
  for (const Transfer& one : group.transfers) ranks.insert(one.rank);
  return ranks;
}

bool has(const GroupSummary& group, int rank) {
  const auto members = ranks_of(group.members);
  return std::ranges::binary_search(members, rank);
}

template <class Item>
void keep(std::vector<Item>& items, const std::set<int>& ranks) {
  std::erase_if(items, [&](Item& item) {
    std::erase_if(item.ranks, [&](int rank) { return !ranks.contains(rank); });
    return item.ranks.empty();
  });
}

// What these ranks said of a group.
GroupSummary part_of(GroupSummary group, const std::set<int>& ranks) {
  keep(group.reached, ranks);
  keep(group.calls, ranks);
  std::erase_if(group.transfers, [&](const Transfer& one) { return !ranks.contains(one.rank); });
  return group;
}

}  // namespace

Summary attributed(Summary summary) {
  Summary more;
  for (GroupSummary& untold : summary.groups) {
    if (!untold.members.empty()) continue;
    std::map<const GroupSummary*, std::set<int>> places;
    for (const int rank : ranks_in(untold)) {
      std::vector<const GroupSummary*> fit;
      for (const GroupSummary& group : summary.groups) {
        const bool is_alike = group.name == untold.name && group.generation == untold.generation;
        if (is_alike && !group.members.empty() && has(group, rank)) fit.push_back(&group);
      }
      if (fit.size() == 1) places[fit.front()].insert(rank);
    }
    std::set<int> rest = ranks_in(untold);
    for (const auto& [group, ranks] : places) {
      GroupSummary part = part_of(untold, ranks);
      part.members = group->members;
      more.groups.push_back(std::move(part));
      for (const int rank : ranks) rest.erase(rank);
    }
    if (!places.empty()) untold = part_of(std::move(untold), rest);
  }
  std::erase_if(summary.groups, [](const GroupSummary& group) { return ranks_in(group).empty(); });
  add(summary, std::move(more));
  return summary;
}

}  // namespace toprun::recorder
