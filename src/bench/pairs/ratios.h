#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "bench/pairs/domains.h"
#include "bench/pairs/measured.h"

namespace toprun::pairs {

// What a pair did beside comparable pairs: those whose nodes share as many domains and whose
// busiest uplink carried as many pairs of the same round; and beside its round, where the round is
// large enough to have a pace of its own.
struct Ratio {
  double value = -1;    // 1: as usual; 0: no result; −1: nothing to compare with
  double expected = 0;  // the pace of 1
};

struct Ratios {
  std::vector<Ratio> all;           // of measured[i] in direction d: all[i · 2 + d]
  std::vector<std::size_t> shared;  // number of domains that measured[i]'s nodes share
  double noise = 0;                 // upper bound for the standard deviation of healthy pairs'
                                    // ratios
};

// A bad node slows down all its pairs, and a bad uplink may slow down most pairs of a cluster. So
// the usual pace is the median over the nodes of what each reaches in its best quarter of pairs.
Ratios ratios(const Domains& domains, std::span<const Measured> measured, Figure figure);

}  // namespace toprun::pairs
