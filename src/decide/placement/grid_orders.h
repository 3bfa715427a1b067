#pragma once

#include <cstddef>
#include <vector>

#include "decide/placement/mapping.h"

namespace toprun::placement {

// The best assignment that follows from a grid of slots, improved by exchanges of nodes (see
// map_slots()). The result contains the node for each slot. The assignment may be worse than the
// plain order.
std::vector<std::size_t> along_grid(const Slots& slots, const cost::Domains& domains,
                                    const cost::Ways& ways);

// Exchanges pairs of nodes as long as an exchange lowers the cost. Visits at most max_swap_visits
// edges.
void improve_by_swaps(const Slots& slots, const cost::Ways& ways, std::vector<std::size_t>& nodes);

// Limits for the work, as the number of visited edges.
inline constexpr std::size_t max_grid_visits = 1 << 26;
inline constexpr std::size_t max_swap_visits = 1 << 25;

}  // namespace toprun::placement
