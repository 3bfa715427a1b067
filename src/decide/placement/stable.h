#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "decide/cost/domains.h"

namespace toprun::placement {

// Computes an order after losses or additions of nodes that moves as few nodes as possible. With n
// nodes now, each node that had one of the first n seats keeps it. A free seat goes to the node
// that shares the most levels with the nodes in the adjacent seats, and among equals to the first
// in `sorted`. `sorted` is the order without this rule. `seats[i]` is the previous seat of node
// sorted[i], nullopt if the node is new. No two nodes have the same seat.
std::vector<std::size_t> keep_seats(std::span<const std::size_t> sorted,
                                    std::span<const std::optional<std::size_t>> seats,
                                    const cost::Domains& domains);

}  // namespace toprun::placement
