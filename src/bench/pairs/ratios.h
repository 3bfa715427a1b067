#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "bench/pairs/domains.h"
#include "bench/pairs/measured.h"

namespace toprun::pairs {

// A pair's pace relative to comparable pairs. Pairs are comparable if their nodes share the same
// number of domains, and if the busiest uplink of each pair carried the same number of pairs in the
// round. If a round has enough pairs, the ratio is also corrected for the usual pace in that round.
struct Ratio {
  double value = -1;  // 1: the usual pace; 0: the pair has no result; −1: there are no comparable
                      // pairs
  double expected = 0;  // the pace for which the ratio would be 1
};

struct Ratios {
  std::vector<Ratio> all;           // for measured[i] in direction d: all[i · 2 + d]
  std::vector<std::size_t> shared;  // number of domains that the nodes of measured[i] share
  double noise = 0;                 // upper bound for the standard deviation of healthy pairs'
                                    // ratios
};

// Computes the ratio of every pair in both directions. A bad node slows down all its pairs, and a
// bad uplink may slow down most pairs of a cluster. So the usual pace is estimated from the fastest
// quarter of each node's pairs, and is the median over the nodes.
Ratios ratios(const Domains& domains, std::span<const Measured> measured, Figure figure);

}  // namespace toprun::pairs
