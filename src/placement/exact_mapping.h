#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "placement/mapping.h"

namespace toprun::placement {

// Nodes of one innermost domain and equally many processes are the same to us, and so are sibling
// domains with the same inside. Up to so many assignments that differ otherwise are searched
// whatever it takes; of more, max_states partial ones, which may suffice.
inline constexpr double max_assignments = 1 << 23;
inline constexpr std::size_t max_states = 1 << 13;
inline constexpr std::size_t max_exact_slots = 64;

// The assignment of the least cost, if it costs less than `than`; `than` itself is the best if
// `nodes` is empty. nullopt: too many to search.
struct Searched {
  std::vector<std::size_t> nodes;  // by slot
};
std::optional<Searched> search_all(const Slots& slots, const Ways& ways, double than);

}  // namespace toprun::placement
