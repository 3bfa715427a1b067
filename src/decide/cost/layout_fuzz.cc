#include <cstdint>
#include <cstdlib>

#include "decide/cost/layout.h"

// If the input is accepted for 64 ranks, each rank is in exactly one group of every kind.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun::cost;
  constexpr std::size_t world = 64;
  const auto parallel = parse_parallel({reinterpret_cast<const char*>(data), size});
  if (!parallel) return 0;
  const auto layout = layout_of(*parallel, world);
  if (!layout) return 0;
  for (const Kind kind : all_kinds) {
    const Groups groups = groups_of(*layout, kind);
    std::vector<bool> seen(world);
    for (std::size_t g = 0; g < groups.bases.size(); ++g) {
      for (std::size_t i = 0; i < groups.offsets.size(); ++i) {
        const auto rank = static_cast<std::size_t>(groups.rank(g, i));
        if (rank >= world || seen[rank]) std::abort();
        seen[rank] = true;
      }
    }
    if (groups.bases.size() * groups.offsets.size() != world) std::abort();
  }
  return 0;
}
