#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace toprun::recorder {

// The ranks of a process group in compact form, for messages. A group in a mesh needs only a few
// runs, whatever its size.
struct Run {
  int first = 0;
  int count = 1;
  int step = 1;  // at least 1

  auto operator<=>(const Run&) const = default;
};

// `ranks` has to be ascending.
std::vector<Run> runs_of(std::span<const int> ranks);
std::vector<int> ranks_of(std::span<const Run> runs);

inline constexpr std::size_t most_ranges = 8;  // of ranks, in a sentence

}  // namespace toprun::recorder
