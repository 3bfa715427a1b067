#include "bench/pairs/tournament.h"

#include <algorithm>
#include <map>

namespace toprun::pairs {
namespace {

using Group = std::vector<std::size_t>;  // nodes

// `kept` of `total` things stay, evenly spread: the index of the i-th that stays.
std::size_t spread(std::size_t i, std::size_t kept, std::size_t total) {
  return i * total / kept;
}

// One seat stays where it is, the others move around it. A seat beyond the last node is empty.
Round circle_round(std::size_t nodes, std::size_t round) {
  const std::size_t seats = nodes + nodes % 2;
  const std::size_t turning = seats - 1;
  Round out;
  const auto meet = [&](std::size_t a, std::size_t b) {
    if (a < nodes && b < nodes) out.push_back(pair_of(a, b));
  };
  meet(turning, round);
  for (std::size_t i = 1; i < seats / 2; ++i) {
    meet((round + i) % turning, (round + turning - i) % turning);
  }
  return out;
}

std::vector<Round> thinned(std::vector<Round> rounds, std::size_t most_rounds) {
  if (rounds.size() <= most_rounds) return rounds;
  std::vector<Round> out;
  for (std::size_t i = 0; i < most_rounds; ++i) {
    out.push_back(std::move(rounds[spread(i, most_rounds, rounds.size())]));
  }
  return out;
}

// Adds the pairs of one node of each group: the smaller group's nodes meet the larger's, shifted by
// one more in each round.
void add_bout(const Group& one, const Group& other, std::span<Round> rounds) {
  const Group& few = one.size() < other.size() ? one : other;
  const Group& many = one.size() < other.size() ? other : one;
  for (std::size_t shift = 0; shift < many.size(); ++shift) {
    for (std::size_t i = 0; i < few.size(); ++i) {
      rounds[shift].push_back(pair_of(few[i], many[(i + shift) % many.size()]));
    }
  }
}

// The rounds in which every two groups meet, all their nodes with each other.
std::vector<Round> group_rounds(const std::vector<Group>& groups) {
  std::vector<Round> out;
  for (const Round& bouts : tournament(groups.size())) {
    std::size_t longest = 0;
    for (const auto& [a, b] : bouts) {
      longest = std::max({longest, groups[a].size(), groups[b].size()});
    }
    const std::size_t first = out.size();
    out.resize(first + longest);
    for (const auto& [a, b] : bouts) {
      add_bout(groups[a], groups[b], std::span(out).subspan(first));
    }
  }
  return out;
}

// The nodes that share so many domains, as groups of those that share one more.
std::map<DomainPath, std::vector<Group>> families(std::span<const DomainPath> places,
                                                  std::size_t shared) {
  std::map<DomainPath, std::map<DomainPath, Group>> inside;
  std::map<DomainPath, std::vector<Group>> out;
  for (std::size_t node = 0; node < places.size(); ++node) {
    const DomainPath& place = places[node];
    if (place.size() < shared) continue;
    const auto end = place.begin() + static_cast<std::ptrdiff_t>(shared);
    const DomainPath parent(place.begin(), end);
    if (place.size() == shared) {
      out[parent].push_back({node});
    } else {
      inside[parent][DomainPath(place.begin(), end + 1)].push_back(node);
    }
  }
  for (auto& [parent, children] : inside) {
    for (auto& [child, nodes] : children) out[parent].push_back(std::move(nodes));
  }
  return out;
}

}  // namespace

Pair pair_of(std::size_t a, std::size_t b) {
  return {std::min(a, b), std::max(a, b)};
}

std::vector<Round> tournament(std::size_t nodes, std::size_t most_rounds) {
  std::vector<Round> out;
  if (nodes < 2) return out;
  const std::size_t total = nodes - 1 + nodes % 2;
  const std::size_t kept = std::min(total, most_rounds);
  for (std::size_t i = 0; i < kept; ++i) {
    out.push_back(circle_round(nodes, spread(i, kept, total)));
  }
  return out;
}

std::vector<Batch> batches(std::span<const DomainPath> places, std::size_t most_rounds) {
  std::size_t deepest = 0;
  for (const DomainPath& place : places) deepest = std::max(deepest, place.size());
  std::vector<Batch> out;
  for (std::size_t shared = deepest + 1; shared-- > 0;) {
    Batch batch{shared, {}};
    for (const auto& [parent, groups] : families(places, shared)) {
      const std::vector<Round> rounds = group_rounds(groups);
      if (batch.rounds.size() < rounds.size()) batch.rounds.resize(rounds.size());
      for (std::size_t i = 0; i < rounds.size(); ++i) {
        batch.rounds[i].insert(batch.rounds[i].end(), rounds[i].begin(), rounds[i].end());
      }
    }
    batch.rounds = thinned(std::move(batch.rounds), most_rounds);
    if (!batch.rounds.empty()) out.push_back(std::move(batch));
  }
  return out;
}

}  // namespace toprun::pairs
