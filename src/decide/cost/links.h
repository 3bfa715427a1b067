#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decide/cost/domains.h"
#include "decide/topology/tree.h"

namespace toprun::cost {

using LinksByLevel = std::map<std::string, topology::Link, std::less<>>;

// Defaults for unknown values. They assume one adapter of 400 Gbit/s per process and NVLink of the
// fifth generation (900 GB/s in each direction). They also assume switches without
// oversubscription: a domain's uplinks carry the sum of its hosts' adapters.
inline constexpr double adapter_gbps_per_process = 400;
inline constexpr double nvlink_gbps_per_process = 7'200;
inline constexpr double host_latency_us = 5;    // latency of a message from memory to memory
                                                // through one switch
inline constexpr double switch_latency_us = 1;  // latency that each further level of switches adds
inline constexpr double nvlink_latency_us = 2;

// The links in a tree of domains and their properties. A domain has one uplink in each direction,
// which represents all its cables together. A host has one link into its innermost domain. Traffic
// out of an NVLink domain uses the hosts' own adapters, because an NVLink domain has no uplink.
struct Links {
  struct Level {
    std::string name;
    bool nvlink = false;
    // The rate of a domain's uplink, or the lowest rate if the level's uplinks differ. 0: unknown,
    // so not a bottleneck. At level nvlink, this is the rate of one host's NVLink, never 0.
    double gbps = 0;
    // At level nvlink: the latency of a message in the domain. At all other levels: the latency
    // added to a message that leaves a domain.
    double latency_us = 0;
    bool assumed = true;  // gbps is a default value
    // The rates of the level's domains by name, 0 if unknown; empty: all domains have the rate
    // `gbps`.
    std::map<std::string, double> gbps_of_domain = {};
  };
  std::vector<Level> levels;  // outermost first
  Level host;                 // all adapters of one host together
};

// Determines the links of the map's levels. A value in `user_links` (from --link) has priority over
// the map's value. The defaults are used last. `processes`: the highest number of processes on a
// host, ≥ 1. If `user_links` contains a level that is not in the map, the error (usage) lists the
// map's levels.
Result<Links> links_of(const topology::Map& map, const LinksByLevel& user_links, int processes);

// Parses "rack=0.4", "host=400" or "rack=0.4:12". The number after "=" is the rate of the level's
// links in Gbit/s. The number after ":", which may be left out, is the latency in microseconds, as
// in Links::Level. Errors (usage): another form, a rate that is not above 0, a latency below 0.
Result<std::pair<std::string, topology::Link>> parse_link(std::string_view text);

// The domains as a tree, and the cost of a byte between two nodes. Nodes that share a domain share
// all domains around it, even if an outer level is unknown. The cost is the time for which the byte
// occupies links. The cost depends only on the innermost domain that the two nodes share. For nodes
// that share only an outer domain, the cost is never lower than for nodes that share an inner
// domain.
class Ways {
 public:
  // Each byte uses both hosts' adapters. It also uses the uplink of each domain that contains only
  // one of the two nodes. Inside an NVLink domain, a byte uses only both hosts' NVLinks. An uplink
  // with an unknown rate is assumed to have the total rate of the hosts in an average domain of its
  // level.
  Ways(const Domains& domains, std::size_t nodes, const Links& links);

  std::size_t nodes() const { return nodes_; }
  std::size_t levels() const { return levels_; }
  std::uint32_t domain(std::size_t node, std::size_t level) const {
    return domain_[node * levels_ + level];
  }
  // Returns the number of levels that the two nodes share, counted from the outermost.
  std::size_t shared(std::size_t a, std::size_t b) const {
    std::size_t level = 0;
    while (level < levels_ && domain(a, level) == domain(b, level)) ++level;
    return level;
  }
  // Returns the seconds per byte between nodes that share this number of levels.
  double seconds(std::size_t shared_levels) const { return seconds_[shared_levels]; }
  double between(std::size_t a, std::size_t b) const { return seconds_[shared(a, b)]; }

 private:
  std::size_t nodes_;
  std::size_t levels_;
  std::vector<std::uint32_t> domain_;
  std::vector<double> seconds_;
};

}  // namespace toprun::cost
