#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/text/error.h"
#include "bench/pairs/measured.h"

namespace toprun::pairs {

// When a node, link or uplink counts as slow. Shares and shortfalls: 0 … 1.
struct Thresholds {
  // A pair is slow if its pace is below the usual one by this share, or by this many standard
  // deviations of the healthy pairs' noise, whichever is larger.
  double least_shortfall = 0.3;
  double deviations = 3;
  // A node or uplink is bad if this share of its pairs is slow. If only half of them are, the other
  // nodes may be at fault.
  double most = 0.6;
  // A link between two nodes has only one pair. The worst of many healthy pairs is expected far
  // out, at √(2 ln n) deviations. So this many deviations are added to that distance.
  double deviations_beyond_worst = 1.25;
  // A pair is doubted if its directions lack this share on average, or one lacks least_shortfall.
  double doubted_shortfall = 0.2;
};

// The limit for doubted pairs of a first pass: the slowest ones.
inline constexpr std::size_t most_doubted_pairs = 4;

enum class Kind {
  node,
  uplink,   // of a domain: the pairs between its nodes and others
  between,  // two domains: the pairs between their nodes
  pair,
};

// Of a node or uplink: sending or receiving. Of two: from the first to the second, or back.
enum class Way { both, out, in };

struct Finding {
  Kind kind = Kind::node;
  Way way = Way::both;
  std::vector<std::size_t> nodes;   // one, two, or none
  std::vector<DomainPath> domains;  // names from the top
  std::size_t shared = 0;           // domains that the nodes of its pairs share
  // Medians over its slow pairs, and the usual value: Gbit/s or µs. 0: no slow pair had a result.
  double reached = 0;
  double usual = 0;
  std::size_t slow = 0;    // pairs, including those without a result
  std::size_t pairs = 0;   // pairs that could be compared
  std::size_t hung = 0;    // pairs
  std::size_t failed = 0;  // pairs
};

struct Verdict {
  Figure figure = Figure::rate;
  std::vector<Finding> findings;  // by kind, the most slow pairs first
  // Pairs within the noise whose nodes are in no finding, slowest first. An uplink that several
  // pairs share can hide a slow link, so the second pass decides.
  std::vector<Finding> doubted;
  std::vector<std::size_t> not_compared;  // nodes without a pair that could be compared
  double noise = 0;  // standard deviation of healthy pairs, as a share of the usual pace
};

// Finds what is slow or hangs in a first pass. Findings explain each other's pairs: the pairs of a
// bad node do not count against its partners, nor those of a bad uplink against its nodes. Pairs
// within a leaf decide before pairs across leaves, because full uplinks hide slow nodes. If a leaf
// has only two nodes, or nearly all pairs are slow, the second look (second_look.h) decides. Pairs
// that were not measured count as missing.
//
// Errors: a pair of unknown or equal nodes, a figure that is not a positive number, places that are
// not one per node.
Result<Verdict> judge(const Cluster& cluster, std::span<const Measured> measured,
                      Figure figure = Figure::rate, const Thresholds& thresholds = {});

// One line per finding, without line ends:
//   n17: 31 Gbps beside 98 in 30 of 31 pairs, both directions
std::string finding_line(const Cluster& cluster, Figure figure, const Finding& finding);

// The hosts of bad nodes, each once, in the cluster's order, for exclusion from a host list. Bad
// links exclude no host, because both nodes work; the network's operators must repair them.
std::vector<std::string> excluded(const Cluster& cluster, std::span<const Finding> findings);

}  // namespace toprun::pairs
