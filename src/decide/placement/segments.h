#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "decide/cost/domains.h"

namespace toprun::placement {

// Arranges the nodes in segments of `size`, counted from the first node; the last segment may be
// shorter. In `sorted`, the nodes of each domain are consecutive. Each innermost domain forms as
// many whole segments as possible. The remaining nodes of a domain form segments with the remaining
// nodes of other domains in the same outer domain, and so on outwards. So at every level, each
// domain of n nodes contains ⌊n / size⌋ segments, the maximum. In return, up to `size` − 1 nodes of
// a domain are separate from its other nodes.
std::vector<std::size_t> in_segments(std::span<const std::size_t> sorted,
                                     const cost::Domains& domains, std::size_t size);

// The positions in this order whose segment is not inside one innermost domain; empty if there are
// no levels.
std::vector<std::size_t> mixed_segments(std::span<const std::size_t> order,
                                        const cost::Domains& domains, std::size_t size);

}  // namespace toprun::placement
