#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "decide/cost/domains.h"

namespace toprun::placement {

// Computes the new order after a job has lost or gained nodes, and moves as few nodes as possible.
// A seat is a position in the order. If there are n nodes now, each node that had one of the first
// n seats keeps its seat. A free seat goes to the node that shares the most levels with the nodes
// in the adjacent seats, and among equals to the first in `sorted`. `sorted` is the order in which
// the nodes would be if none had to keep its seat. `seats[i]` is the previous seat of node
// sorted[i], nullopt if the node is new. No two nodes have the same seat.
std::vector<std::size_t> keep_seats(std::span<const std::size_t> sorted,
                                    std::span<const std::optional<std::size_t>> seats,
                                    const cost::Domains& domains);

}  // namespace toprun::placement
