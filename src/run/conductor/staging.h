#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace toprun::run {

// A node requests files from at most this many nodes before it in the chain of nodes, then from the
// source.
inline constexpr std::size_t most_predecessors = 3;

// Returns, for each node, the nodes from which it copies the Python environment, nearest first. The
// source is the last entry of every list; only the source's own list is empty. The nodes form a
// chain that starts at the source and passes through the source's domain, then through the other
// domains in the order of `locations`, which contains each node's "/cluster/rack/node". Nodes of
// one domain are adjacent in `locations`, so each uplink carries the environment only once in each
// direction.
std::vector<std::vector<std::size_t>> upstreams_of(const std::vector<std::string>& locations,
                                                   std::size_t source);

}  // namespace toprun::run
