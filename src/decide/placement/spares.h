#pragma once

#include <cstddef>
#include <span>
#include <unordered_set>
#include <vector>

#include "decide/cost/domains.h"

namespace toprun::placement {

// If the number of nodes times the number of spares is above max_spare_work, the choice is not
// exact: whole outermost domains are left out first, beginning with the smallest.
inline constexpr std::size_t max_spare_work = 20'000'000;

// Selects `keep` nodes of `sorted`, if there are more. The result has the same order as `sorted`.
// In `sorted`, the nodes of each domain are consecutive. The first aim is the maximum number of
// whole segments of `segment` nodes inside innermost domains. The second aim is the minimum number
// of outermost domains, then of domains at the next level, and so on. A node in an unknown domain
// counts as a domain of its own, so such nodes are left out first. The choice is exact up to
// max_spare_work. Among equal choices, the choice with the earlier nodes wins. The nodes in
// `fixed`, at most `keep`, are always kept.
std::vector<std::size_t> without_spares(std::span<const std::size_t> sorted,
                                        const cost::Domains& domains, std::size_t keep,
                                        std::size_t segment,
                                        const std::unordered_set<std::size_t>& fixed = {});

}  // namespace toprun::placement
