#include "decide/hang/stillness.h"

#include <algorithm>

namespace toprun::hang {

void Stillness::look(std::span<const RankSample> ranks, SteadyTime now) {
  const bool is_first = ranks_.size() != ranks.size();
  if (is_first) ranks_.assign(ranks.size(), {});
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    Rank& rank = ranks_[i];
    const RankSample& sample = ranks[i];
    if (!sample.computes) {
      rank.computes_since.reset();
    } else if (!rank.computes_since) {
      rank.computes_since = now;
    }
    if (is_first || sample.done != rank.last.done || computing_counts(rank, now)) rank.moved = now;
    // One entry for each change, so a rank that stands still costs nothing.
    if (rank.paths.empty() || rank.paths.back().second != sample.path) {
      rank.paths.emplace_back(now, sample.path);
    }
    while (rank.paths.size() > 1 && rank.paths[1].first + remembered_ < now) {
      rank.paths.pop_front();
      rank.moved = std::max(rank.moved, rank.paths.front().first);  // what was before is forgotten
    }
    rank.last = sample;
  }
}

void Stillness::leave_out(SteadyTime::duration time) {
  for (Rank& rank : ranks_) {
    rank.moved += time;
    rank.computes_since.reset();
    for (auto& path : rank.paths) path.first += time;
  }
}

bool Stillness::computing_counts(const Rank& rank, SteadyTime now) const {
  if (!rank.computes_since) return false;
  if (now - since(rank) < remembered_) return true;
  return now - *rank.computes_since >=
         std::min<SteadyTime::duration>(remembered_ / 10, longest_doubt);
}

// Back from the newest look to where one function too many was seen.
SteadyTime Stillness::since(const Rank& rank) const {
  std::vector<std::uint64_t> seen;
  SteadyTime since = rank.moved;
  for (auto path = rank.paths.rbegin(); path != rank.paths.rend(); ++path) {
    if (std::ranges::find(seen, path->second) == seen.end()) seen.push_back(path->second);
    if (seen.size() > most_paths_of_a_wait) return std::max(since, std::prev(path)->first);
  }
  return since;
}

std::optional<Still> Stillness::still() const {
  std::optional<Still> still;
  for (const Rank& rank : ranks_) {
    if (!rank.last.lives) continue;
    if (!still) still.emplace();
    still->since = std::max(still->since, since(rank));
    still->some_communicate = still->some_communicate || rank.last.communicates;
  }
  return still;
}

}  // namespace toprun::hang
