#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decide/cost/links.h"
#include "decide/placement/order.h"

namespace toprun::placement {

inline constexpr double usual_message_bytes = 64 << 20;

// The inputs of score() besides the hosts and the topology map.
struct Terms {
  cost::Links links;  // of the map
  double message_bytes = usual_message_bytes;
  // The order of nodes in a user's file, which is scored too; see place_as_listed().
  struct Listed {
    std::string file;
    std::string text;
    std::string_view name = "file";  // of the order, in the table; a literal
  };
  std::optional<Listed> listed;
};

// The cost of a collective in one order (cost.h).
struct Priced {
  double seconds = 0;
  struct Link {
    std::string level;
    std::string name;  // of the domain or host; for an unknown domain, "of n3": n3 is a node in it
    std::size_t flows = 0;
    double bytes = 0;  // in one direction
    double seconds = 0;
  };
  std::optional<Link> worst;  // unset: only one node
};

// An order of a job's nodes, its costs, and at each level the number of ring neighbours that are in
// different domains.
struct Scored {
  std::string_view name;               // given, name, torchrun, topology, file
  std::vector<std::size_t> crossings;  // one per level
  std::vector<Priced> priced;          // one per entry of `collectives`
};

// Compares the possible orders of a job's nodes.
struct Score {
  std::string source;
  std::vector<std::string> levels;  // outermost first
  std::size_t nodes = 0;
  Terms terms;
  std::vector<Scored> orders;
  std::vector<std::size_t> minimum;  // the lowest crossings of any order, one per level
  std::vector<double> least;         // time in seconds that no order can beat, one per collective
  std::vector<std::string> unplaced;
  std::vector<std::string> warnings;
};

// Computes the scores of all orders. Errors: those of place() and place_as_listed().
Result<Score> score(const std::vector<Host>& hosts, const topology::Map& map, Terms terms);

// Whether all links have default values. Then the times assume a network without oversubscription.
bool all_links_assumed(const cost::Links& links);

// Returns two tables. The first table shows the crossings: a row per order, a column per level. The
// second table shows the costs: a row per collective and order. The text is empty if all levels are
// unknown.
std::string score_text(const Score& score);

// Returns {"schema": "toprun.topo_score/1", source, levels, nodes, bytes, links: [{level, gbps or
// null if it is not a bottleneck, latency_us, assumed}], orders: [{name, crossings: {LEVEL: count},
// cost: {COLLECTIVE: {seconds, ratio: to least, worst: {level, name, flows, bytes, seconds} or
// null}}}], minimum: {LEVEL: count}, least: {COLLECTIVE: seconds}, ring: as in topo_order,
// unplaced, warnings}. `more`: further members to append, without the braces.
std::string score_json(const Score& score, std::string_view more = {});

}  // namespace toprun::placement
