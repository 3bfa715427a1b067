#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "topology/tree.h"

namespace toprun::placement {

using LinksByLevel = std::map<std::string, topology::Link, std::less<>>;

// Where nobody tells: an adapter of 400 Gbit/s for each process, NVLink of the fifth generation
// (900 GB/s each way) for each process, and switches that are not oversubscribed, so that a
// domain's uplinks carry what its hosts' adapters carry together.
inline constexpr double adapter_gbps_per_process = 400;
inline constexpr double nvlink_gbps_per_process = 7'200;
inline constexpr double host_latency_us = 5;    // from memory to memory through one switch
inline constexpr double switch_latency_us = 1;  // that each level of switches adds
inline constexpr double nvlink_latency_us = 2;

// The links of a tree of domains, with a figure for each. A domain has one uplink in each
// direction, all its cables together; so has a host, into its innermost domain. What leaves an
// NVLink domain does so through the hosts' own adapters: it has no uplink of its own.
struct Links {
  struct Level {
    std::string name;
    bool nvlink = false;
    double gbps = 0;  // of one domain's uplink; nvlink: of one host inside; 0: not known, then
                      // it is no bottleneck (not nvlink)
    double latency_us = 0;  // nvlink: of a message inside; else what leaving a domain adds
    bool assumed = true;    // nobody told gbps
  };
  std::vector<Level> levels;  // outermost first
  Level host;                 // each host's adapters together
};

// `told` (the user's --link) goes before what the map's source tells, and that before what is
// assumed. `processes`: the most that a host runs, ≥ 1.
// Error (usage): `told` names a level that the map lacks (which there are is said).
Result<Links> links_of(const topology::Map& map, const LinksByLevel& told, int processes);

// "rack=0.4", "host=400" or with a latency in microseconds "rack=0.4:12": gigabits per second of a
// level's links. Error (usage): not of that form, or no figures above 0.
Result<std::pair<std::string, topology::Link>> parse_link(std::string_view text);

}  // namespace toprun::placement
