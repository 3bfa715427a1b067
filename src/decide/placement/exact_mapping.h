#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "decide/placement/mapping.h"

namespace toprun::placement {

// Two nodes are equal if they have the same innermost domain and number of processes. Two sibling
// domains are equal if their contents are equal. Assignments that differ only by exchanges of equal
// nodes or domains count as one. If there are at most max_assignments different assignments, all
// are searched. Otherwise the search ends after at most max_states partial assignments, or earlier
// if it is complete.
inline constexpr double max_assignments = 1 << 23;
inline constexpr std::size_t max_states = 1 << 13;
inline constexpr std::size_t max_exact_slots = 64;

// The result of search_all(): the assignment with the lowest cost, if this cost is below `than`.
// Empty `nodes`: no assignment costs less than `than`. nullopt: there are too many assignments.
struct Searched {
  std::vector<std::size_t> nodes;  // by slot
};
std::optional<Searched> search_all(const Slots& slots, const cost::Ways& ways, double than);

}  // namespace toprun::placement
