#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "placement/domains.h"

namespace toprun::placement {

// The nodes in segments of `size`, counted from the first node on; the last may be shorter.
// `sorted` has every domain's nodes in a row. Each innermost domain gives all the whole segments
// that it can; what is left over makes segments with the rests of its neighbours in the next domain
// around them, and so on outwards. So at every level each domain of n nodes has ⌊n / size⌋ segments
// inside it, the most there can be. The price: fewer than `size` nodes of a domain stand apart from
// the others.
std::vector<std::size_t> in_segments(std::span<const std::size_t> sorted, const Domains& domains,
                                     std::size_t size);

// Positions in this order whose segment is not inside one innermost domain; none without levels.
std::vector<std::size_t> mixed_segments(std::span<const std::size_t> order, const Domains& domains,
                                        std::size_t size);

}  // namespace toprun::placement
