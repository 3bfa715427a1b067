#include "run/conductor/chain.h"

#include <algorithm>
#include <numeric>

#include "base/text/text.h"

namespace toprun::run {
namespace {

// How many domains two nodes share, from the outermost on.
std::size_t shared_domains(const std::string& a, const std::string& b) {
  const auto ours = split(a, '/');
  const auto theirs = split(b, '/');
  const std::size_t most = std::min(ours.size(), theirs.size());
  std::size_t shared = 0;
  while (shared < most && ours[shared] == theirs[shared]) ++shared;
  return shared;
}

}  // namespace

std::vector<std::vector<std::size_t>> upstreams_of(const std::vector<std::string>& locations,
                                                   std::size_t source) {
  const std::size_t nodes = locations.size();
  std::vector<std::size_t> chain(nodes);
  std::iota(chain.begin(), chain.end(), 0);
  std::ranges::rotate(chain, chain.begin() + static_cast<std::ptrdiff_t>(source));
  std::ranges::stable_sort(chain.begin() + 1, chain.end(), std::greater(), [&](std::size_t node) {
    return shared_domains(locations[node], locations[source]);
  });
  std::vector<std::vector<std::size_t>> upstreams(nodes);
  for (std::size_t place = 1; place < nodes; ++place) {
    std::vector<std::size_t>& ours = upstreams[chain[place]];
    const std::size_t first = place > most_predecessors ? place - most_predecessors : 1;
    for (std::size_t before = place; before-- > first;) ours.push_back(chain[before]);
    ours.push_back(source);
  }
  return upstreams;
}

}  // namespace toprun::run
