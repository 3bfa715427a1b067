#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/text/error.h"
#include "bench/pairs/tournament.h"

namespace toprun::pairs {

// Limits that decide whether a node, link or uplink counts as slow. Shares and shortfalls are 0 …
// 1.
struct Thresholds {
  // A pair is slow if its pace (tournament.h) is below both of two limits. The first limit is the
  // usual pace less the share `least_shortfall`; the second is the usual pace less `deviations`
  // standard deviations of the healthy pairs' noise.
  double least_shortfall = 0.3;
  double deviations = 3;
  // A node or uplink is bad if at least this share of pairs is slow. If only half of a node's pairs
  // are slow, the fault may be in the other nodes of these pairs.
  double most = 0.6;
  // A link between two nodes has only one pair. Among n healthy pairs, the slowest is expected √(2
  // ln n) standard deviations below the mean. A link is slow if it is this number of deviations
  // below that expected value.
  double deviations_beyond_worst = 1.25;
  // A pair is doubtful if the mean of its directions is below the usual pace by this share. A pair
  // is also doubtful if one direction is below the usual pace by least_shortfall.
  double doubted_shortfall = 0.2;
};

// Verdict::doubted contains at most this many pairs: the slowest of the doubtful pairs.
inline constexpr std::size_t most_doubted_pairs = 4;

enum class Kind {
  node,
  uplink,   // a domain's uplink, judged by the pairs between the domain's nodes and other nodes
  between,  // the network between two domains, judged by the pairs between their nodes
  pair,
};

// The slow direction. For a node or uplink, `out` is what it sends, `in` is what it receives. For
// two nodes or domains, `out` is from the first to the second, `in` from the second to the first.
enum class Way { both, out, in };

// A node, link or uplink that is slow, hangs or fails.
struct Finding {
  Kind kind = Kind::node;
  Way way = Way::both;
  std::vector<std::size_t> nodes;   // 0, 1 or 2 nodes, depending on `kind`
  std::vector<DomainPath> domains;  // the full names, outermost first
  std::size_t shared = 0;           // number of domains that the nodes of each pair share
  // `reached` is the median over the slow pairs, `usual` the usual value, in Gbit/s or µs. 0: no
  // slow pair had a result.
  double reached = 0;
  double usual = 0;
  // The same as `reached`, for one direction alone: Way::out and Way::in. 0: no slow pair had a
  // result in this direction.
  double reached_out = 0;
  double reached_in = 0;
  std::size_t slow = 0;    // number of slow pairs, including pairs without a result
  std::size_t pairs = 0;   // number of pairs that could be compared
  std::size_t hung = 0;    // number of pairs that hang
  std::size_t failed = 0;  // number of pairs that failed
};

struct Verdict {
  Figure figure = Figure::rate;
  std::vector<Finding> findings;  // by kind; within a kind, the finding with the most slow pairs is
                                  // first
  // Doubtful pairs that are within the noise, and whose nodes are in no finding; the slowest first.
  // Doubtful pairs are measured again in a second pass (second_look.h), because an uplink that
  // several pairs share can hide a slow link.
  std::vector<Finding> doubted;
  std::vector<std::size_t> not_compared;  // nodes without a pair that could be compared
  double noise = 0;  // standard deviation of healthy pairs, as a share of the usual pace
};

// Finds the nodes, links and uplinks that are slow or hang, from the results of a first pass over
// the pairs. A slow pair counts for only one finding. If a bad node makes a pair slow, this pair
// does not count against the pair's other node. If a bad uplink makes a pair slow, this pair does
// not count against its two nodes. Pairs within a leaf domain are judged first, because between
// leaves, a full uplink can hide a slow node. If a leaf has only two nodes, or nearly all pairs are
// slow, the second pass (second_look.h) decides which nodes are slow. Pairs in the state
// not_measured are treated like missing pairs.
//
// Errors: a pair has unknown or equal nodes, a measured value is not a positive number, or the
// number of Cluster::places differs from the number of nodes.
Result<Verdict> judge(const Cluster& cluster, std::span<const Measured> measured,
                      Figure figure = Figure::rate, const Thresholds& thresholds = {});

// Describes a finding in one line, without a line end:
//   n17: 31 Gbps, others 98, in 30 of 31 pairs, both directions
std::string finding_line(const Cluster& cluster, Figure figure, const Finding& finding);

// Returns the hosts to exclude from a host list: the hosts of bad nodes, each once, in the
// cluster's order. A bad link excludes no host, because both nodes work; the network's operators
// must repair the link.
std::vector<std::string> excluded(const Cluster& cluster, std::span<const Finding> findings);

// Whether the hosts from excluded() are certainly bad, so that they can be excluded. Several bad
// hosts can be excluded only if the nodes' places in the network are known (Cluster::places).
// Otherwise, the hosts may only share a slow uplink, or one host may slow down the others' pairs. A
// single bad host can always be excluded, because it is slow for all other hosts, whatever the
// cause.
bool is_certain(const Cluster& cluster, std::span<const std::string> bad_hosts);

}  // namespace toprun::pairs
