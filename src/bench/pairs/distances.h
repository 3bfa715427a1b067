#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "bench/pairs/tournament.h"

namespace toprun::pairs {

// A group of nodes whose pairs with each other are clearly faster than their pairs with other
// nodes, for example because the nodes are in the same rack.
struct SpeedGroup {
  std::vector<std::size_t> nodes;  // ascending, at least two
  double inside = 0;               // median of pairs within the group, Gbit/s
  double outside = 0;              // median of pairs with other nodes, Gbit/s
};

// Finds the groups in the results. Returns at least two groups, or none if all pairs are about
// equally fast, apart from the pairs of single slow nodes.
std::vector<SpeedGroup> speed_groups(std::size_t nodes, std::span<const Measured> measured);

// Returns each node's place in the network, for Cluster::places. A node's place is its group of
// fast pairs, named after the group's first node. A node without a group has an unknown place.
std::vector<DomainPath> places_of(const Cluster& cluster, std::span<const SpeedGroup> groups);

// The numbered network domains (racks, pods) of a cluster. Two racks with the name r1 in different
// pods are different domains.
class Domains {
 public:
  struct Domain {
    std::size_t depth = 1;  // 1: outermost
    DomainPath path;        // the names of the domain and its parents, outermost first
    std::vector<std::size_t> nodes;
  };

  explicit Domains(const Cluster& cluster);

  std::size_t size() const { return domains_.size(); }
  std::size_t nodes() const { return of_.size(); }
  const Domain& operator[](std::size_t domain) const { return domains_[domain]; }
  // Returns the domains of a node, outermost first.
  std::span<const std::size_t> of(std::size_t node) const { return of_[node]; }
  // Returns the number of domains that two nodes share.
  std::size_t shared(std::size_t a, std::size_t b) const;
  // Whether there are at least `count` pairs whose nodes share exactly `shared` domains.
  bool has_pairs(std::size_t shared, std::size_t count) const;

 private:
  std::vector<Domain> domains_;
  std::vector<std::vector<std::size_t>> of_;
};

// The results of all pairs at one distance, such as "inside a rack".
struct Distance {
  std::string name;                // "inside a rack", "between racks"
  std::size_t pairs = 0;           // pairs with a result
  std::size_t at_once = 0;         // the maximum number of pairs measured at the same time
  std::vector<std::size_t> parts;  // innermost domains of the pairs' nodes, ascending
  // Statistics over both directions of all pairs, in Gbit/s.
  double least = 0;
  double median = 0;
  double most = 0;
};

// Groups the results by distance, sorted from near to far. If Cluster::places is empty, all pairs
// between hosts form one distance, "all pairs". Pairs of ranks on one host are a separate distance.
std::vector<Distance> distances(const Cluster& cluster, std::span<const Measured> measured);

// Returns one line for each distance, without line ends:
//   inside a rack  3.1 to 14 Gbps, median 9.8 (2 pairs)
//   between racks  0.038 to 0.042 Gbps, median 0.04 (4 pairs, 2 at a time)
// If there are only two racks and the network between them is slower than inside them, another line
// says that the cause cannot be determined. `is_found`: the cause of a slow network is known, so
// the line that says it cannot be determined is left out.
std::vector<std::string> distance_lines(std::span<const Distance> distances, bool is_found);

// Formats a rate or a time with two significant digits: "98", "3.1", "0.038".
std::string figure_text(double value);

}  // namespace toprun::pairs
