#pragma once

#include <cstddef>
#include <span>
#include <unordered_set>
#include <vector>

#include "decide/cost/domains.h"

namespace toprun::placement {

// The limit for the exact choice, as nodes times spares. Above it, whole outermost domains are left
// out first, beginning with the smallest.
inline constexpr std::size_t max_spare_work = 20'000'000;

// Selects `keep` nodes of `sorted`, if there are more; the result keeps their order. In `sorted`,
// the nodes of each domain are consecutive. The first criterion is the number of whole segments of
// `segment` nodes inside innermost domains (maximal). The second is the number of outermost domains
// (minimal), then the number of domains at the next level, and so on. A node in an unknown domain
// counts as a domain of its own, so such nodes are left out first. The choice is exact up to
// max_spare_work; among equal choices, the one with the earlier nodes wins. The nodes in `fixed`,
// at most `keep`, are always kept.
std::vector<std::size_t> without_spares(std::span<const std::size_t> sorted,
                                        const cost::Domains& domains, std::size_t keep,
                                        std::size_t segment,
                                        const std::unordered_set<std::size_t>& fixed = {});

}  // namespace toprun::placement
