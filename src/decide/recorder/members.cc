#include "decide/recorder/members.h"

#include <iterator>

namespace toprun::recorder {

std::vector<Run> runs_of(std::span<const int> ranks) {
  std::vector<Run> runs;
  for (const int rank : ranks) {
    if (!runs.empty()) {
      Run& last = runs.back();
      if (last.count == 1) last.step = rank - last.first;
      if (rank == last.first + last.count * last.step) {
        ++last.count;
        continue;
      }
    }
    runs.push_back({rank, 1, 1});
  }
  return runs;
}

std::vector<int> ranks_of(std::span<const Run> runs) {
  std::vector<int> ranks;
  for (const Run& run : runs) {
    for (int i = 0; i < run.count; ++i) ranks.push_back(run.first + i * run.step);
  }
  return ranks;
}

}  // namespace toprun::recorder
