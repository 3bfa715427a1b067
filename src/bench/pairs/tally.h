#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "bench/pairs/distances.h"
#include "bench/pairs/pair_verdict.h"
#include "bench/pairs/tournament.h"

namespace toprun::pairs {

// A pair's pace (tournament.h) as a share of the usual pace of comparable pairs. Pairs are
// comparable if their nodes share the same number of domains. Also, the busiest uplink of each pair
// must have carried the same number of pairs in its round. If a round has enough pairs, the ratio
// is also corrected for the usual pace in that round.
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
// bad uplink may slow down most pairs of a cluster. So the usual pace is first estimated as the
// median over the nodes; each node counts with the pace that a quarter of its pairs reach. Only
// pairs near this estimate then determine the usual pace.
Ratios ratios(const Domains& domains, std::span<const Measured> measured, Figure figure);

struct Count {
  std::size_t slow = 0;
  std::size_t all = 0;
  double share() const {
    return all == 0 ? 0 : static_cast<double>(slow) / static_cast<double>(all);
  }
};

// Counts, per node, the measured values that no finding explains yet. A value (`figure` below) is
// one direction of measured[i], and has the index i · 2 + direction.
class Tally {
 public:
  Tally(std::size_t nodes, std::span<const Measured> measured, const Ratios& ratios,
        double slow_below);

  std::size_t levels() const { return levels_; }  // numbers of shared domains are 0 … levels − 1
  std::size_t nodes() const { return pairs_of_.size(); }
  // Returns the count for those of the node's pairs whose two nodes share `shared` domains. `way`:
  // the direction in which the node sends (Way::out) or receives (Way::in).
  const Count& of(std::size_t node, Way way, std::size_t shared) const;
  Count of_all_levels(std::size_t node, Way way) const;

  // Whether no finding explains this value yet, and comparable values exist.
  bool open(std::size_t figure) const { return open_[figure] != 0; }
  bool slow(std::size_t figure) const;
  void explain(std::size_t figure);

  std::size_t sender(std::size_t figure) const;
  std::size_t receiver(std::size_t figure) const;
  // Returns the indexes of the node's pairs in `measured`.
  const std::vector<std::size_t>& pairs_of(std::size_t node) const { return pairs_of_[node]; }

 private:
  std::size_t place(std::size_t node, Way way, std::size_t shared) const;
  template <class Change>
  void change(std::size_t figure, Change by);

  std::span<const Measured> measured_;
  const Ratios& ratios_;
  double slow_below_;
  std::size_t levels_ = 1;
  std::vector<std::vector<std::size_t>> pairs_of_;
  std::vector<Count> counts_;
  std::vector<char> open_;
};

}  // namespace toprun::pairs
