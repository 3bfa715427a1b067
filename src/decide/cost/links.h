#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decide/topology/tree.h"

namespace toprun::cost {

using LinksByLevel = std::map<std::string, topology::Link, std::less<>>;

// Defaults for unknown values. Each process has one adapter of 400 Gbit/s and NVLink of the fifth
// generation (900 GB/s in each direction). Switches have no oversubscription: a domain's uplinks
// carry the sum of its hosts' adapters.
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
    double gbps = 0;        // rate of a domain's uplink; if the uplinks of a level differ, the
                            // lowest rate; 0: unknown, so not a bottleneck. Level nvlink: rate of
                            // one host's NVLink, never 0
    double latency_us = 0;  // level nvlink: latency of a message in the domain; else the latency
                            // added to a message that leaves a domain
    bool assumed = true;    // gbps is a default value
    // The rates of the level's domains by name, 0 if unknown; empty: all domains have the rate
    // `gbps`.
    std::map<std::string, double> gbps_of_domain = {};
  };
  std::vector<Level> levels;  // outermost first
  Level host;                 // all adapters of one host together
};

// A value in `user_links` (from --link) has priority over the map's value. The defaults are used
// last. `processes`: the highest number of processes on a host, ≥ 1. Error (usage): `user_links`
// contains a level that is not in the map; the message lists the levels.
Result<Links> links_of(const topology::Map& map, const LinksByLevel& user_links, int processes);

// Parses "rack=0.4", "host=400" or "rack=0.4:12". The first number is the rate of a level's links
// in Gbit/s. The second number, which may be left out, is the latency in microseconds, as in
// Links::Level. Errors (usage): another form, a rate that is not above 0, a latency below 0.
Result<std::pair<std::string, topology::Link>> parse_link(std::string_view text);

}  // namespace toprun::cost
