#pragma once

#include <cstddef>
#include <span>
#include <string>
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

// The ranks as ranges: "0-4,6"; at most `most` ranks, then the number of the others.
std::string ranks_text(const std::vector<int>& ranks, std::size_t most = 8);

}  // namespace toprun::recorder
