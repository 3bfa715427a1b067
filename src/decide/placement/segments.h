#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "decide/cost/domains.h"

namespace toprun::placement {

// Arranges the nodes in segments of `size`, counted from the first node; the last segment may be
// shorter. In `sorted`, the nodes of each domain are consecutive. Each innermost domain forms as
// many whole segments as possible. The remaining nodes of a domain form segments with the remaining
// nodes of other domains in the same outer domain, and so on outwards. So at every level, each
// domain of n nodes contains ⌊n / size⌋ segments, the maximum. In return, up to `size` − 1 nodes of
// a domain may not be next to the domain's other nodes in the order.
std::vector<std::size_t> in_segments(std::span<const std::size_t> sorted,
                                     const cost::Domains& domains, std::size_t size);

// Returns the positions in this order whose segment is not inside one innermost domain; empty if
// there are no levels.
std::vector<std::size_t> mixed_segments(std::span<const std::size_t> order,
                                        const cost::Domains& domains, std::size_t size);

// If the number of nodes times the number of spare nodes is above max_spare_work, without_spares()
// may not find the best choice: it first leaves out whole outermost domains, beginning with the
// smallest.
inline constexpr std::size_t max_spare_work = 20'000'000;

// Selects `keep` nodes of `sorted`, if there are more. The result has the same order as `sorted`.
// In `sorted`, the nodes of each domain are consecutive. The first aim is the maximum number of
// whole segments of `segment` nodes inside innermost domains. The second aim is the minimum number
// of outermost domains, then of domains at the next level, and so on. A node in an unknown domain
// counts as a domain of its own, so such nodes are left out first. The choice is the best one,
// unless max_spare_work is exceeded. Among equal choices, the choice with the earlier nodes wins.
// The nodes in `fixed`, at most `keep`, are always kept.
std::vector<std::size_t> without_spares(std::span<const std::size_t> sorted,
                                        const cost::Domains& domains, std::size_t keep,
                                        std::size_t segment,
                                        const std::unordered_set<std::size_t>& fixed = {});

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
