#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "decide/cost/domains.h"

namespace toprun::placement {

// Arranges the nodes in segments of `size` consecutive nodes; the last segment may be shorter. In
// `sorted`, the nodes of each domain are consecutive. Each innermost domain forms as many whole
// segments as possible. The remaining nodes of a domain form segments with the remaining nodes of
// other domains in the same outer domain, and so on outwards. So at every level, each domain of n
// nodes contains ⌊n / size⌋ segments, the maximum. The price is that up to `size` − 1 nodes of a
// domain may be separated from the domain's other nodes in the order.
std::vector<std::size_t> in_segments(std::span<const std::size_t> sorted,
                                     const cost::Domains& domains, std::size_t size);

// Returns the positions in `order` whose segment contains nodes of several innermost domains.
// Empty: there are no such segments, or no levels.
std::vector<std::size_t> mixed_segments(std::span<const std::size_t> order,
                                        const cost::Domains& domains, std::size_t size);

// If the number of nodes times the number of spare nodes is above max_spare_work, without_spares()
// may not find the best choice. It then first makes spares of all nodes of whole outermost domains,
// the smallest domains first, and chooses the other spares among the remaining nodes.
inline constexpr std::size_t max_spare_work = 20'000'000;

// Selects `keep` nodes of `sorted`, if there are more. The result has the same order as `sorted`.
// In `sorted`, the nodes of each domain are consecutive. The first aim is that the selected nodes
// form as many whole segments of `segment` nodes inside innermost domains as possible. The second
// aim is that they use as few outermost domains as possible, then as few domains of the next level,
// and so on. A node in an unknown domain counts as a domain of its own, so such nodes are left out
// first. The choice is the best one, unless max_spare_work is exceeded. Among equally good choices,
// the one with nodes that come earlier in `sorted` wins. The nodes in `fixed`, at most `keep`, are
// always kept.
std::vector<std::size_t> without_spares(std::span<const std::size_t> sorted,
                                        const cost::Domains& domains, std::size_t keep,
                                        std::size_t segment,
                                        const std::unordered_set<std::size_t>& fixed = {});

// Computes the new order after a job has lost or gained nodes, and moves as few nodes as possible.
// A seat is a position in the order. If there are n nodes now, each node that had one of the first
// n seats keeps its seat. A free seat goes to the node that shares the most levels with the nodes
// in the adjacent seats, and among equals to the first in `sorted`. `sorted` is the order that the
// nodes would have if no node had to keep its seat. `seats[i]` is the previous seat of node
// sorted[i], nullopt if the node is new. No two nodes have the same seat.
std::vector<std::size_t> keep_seats(std::span<const std::size_t> sorted,
                                    std::span<const std::optional<std::size_t>> seats,
                                    const cost::Domains& domains);

}  // namespace toprun::placement
