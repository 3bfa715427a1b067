#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "placement/mapping.h"

namespace toprun::placement {

// The best assignment of those that a grid of slots suggests, improved by exchanging nodes: see
// map_slots(). By slot; nothing is said of its being better than the plain order.
std::vector<std::size_t> along_grid(const Slots& slots, const Domains& domains, const Ways& ways);

// Exchanges pairs of nodes while that lowers the cost, up to max_swap_visits.
void improve_by_swaps(const Slots& slots, const Ways& ways, std::vector<std::size_t>& nodes);

// Bounds on the work, in edges looked at.
inline constexpr std::size_t max_grid_visits = 1 << 26;
inline constexpr std::size_t max_swap_visits = 1 << 25;

}  // namespace toprun::placement
