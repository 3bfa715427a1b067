#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace toprun::run {

// The nodes before a node in the chain that it asks, one after the other, before the source.
inline constexpr std::size_t most_predecessors = 3;

// From whom each node takes the environment, nearest first; the source is always the last, and has
// none itself. The nodes form a chain from the source through its own domain, then through the
// others in the given order, in which nodes of one domain stand together: so each uplink carries
// the environment once in each direction. `locations`: "/cluster/rack/node", by place in the order.
std::vector<std::vector<std::size_t>> upstreams_of(const std::vector<std::string>& locations,
                                                   std::size_t source);

}  // namespace toprun::run
