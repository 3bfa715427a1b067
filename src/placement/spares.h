#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "placement/domains.h"

namespace toprun::placement {

// Nodes times spares above which whole outermost domains, the smallest first, are left out before
// the rest is chosen exactly.
inline constexpr std::size_t max_spare_work = 20'000'000;

// Which `keep` of the nodes to take where more are given than needed. `sorted` has every domain's
// nodes in a row; the answer is in the same order. First come whole segments of `segment` nodes
// inside innermost domains (as many as can be), then few domains: the fewest outermost ones, among
// such choices the fewest of the next level, and so on. A node of an unknown domain is alone in it,
// so such nodes are left out first. Exact up to max_spare_work; of equal choices the one that keeps
// the earlier nodes.
std::vector<std::size_t> without_spares(std::span<const std::size_t> sorted, const Domains& domains,
                                        std::size_t keep, std::size_t segment);

}  // namespace toprun::placement
