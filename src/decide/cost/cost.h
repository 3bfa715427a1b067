#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "decide/cost/loads.h"

namespace toprun::cost {

// The cost of a collective over nodes in a given order: steps · α + the bytes of the worst link /
// its rate. α is the latency between the two nodes that are furthest apart. All flows of the
// collective run at the same time, so the link with the longest transfer time determines the
// duration. docs/concepts/placement.md contains the formulas and compares the results with
// measurements.
//
// Assumptions: there is one flow between two nodes, independent of the number of processes on each,
// because the processes of a node first combine their parts (NCCL; several rings over several
// adapters together carry the same bytes as this flow); time inside a node is zero; uplinks are
// shared fairly; no other traffic is on the network; bytes are the program's own payload, without
// frames and headers.
enum class Collective {
  ring,        // all-reduce: 2(N−1) steps, each sends S/N over every edge of the ring
  tree,        // all-reduce along NCCL's double binary tree: S/2 up and down each tree
  all_to_all,  // S/N from each node to each other node
};

struct CollectiveName {
  Collective collective;
  std::string_view key;   // in JSON
  std::string_view text;  // for messages
};
inline constexpr std::array collectives = {
    CollectiveName{Collective::ring, "ring", "ring all-reduce"},
    CollectiveName{Collective::tree, "tree", "tree all-reduce"},
    CollectiveName{Collective::all_to_all, "all_to_all", "all-to-all"},
};

struct Cost {
  double seconds = 0;
  std::optional<Load> worst;  // total of all steps; unset: only one node
};

// `order`: distinct nodes of the network that run processes. `bytes`: S, on each node.
Cost cost_of(Collective collective, const Network& network, std::span<const std::size_t> order,
             double bytes);

// A lower bound for the time of all orders of these nodes. For the ring it is the minimum: an order
// with the nodes of every domain in a row reaches it, unless NVLink is slower than the adapters.
// All-to-all has the same cost in every order. For the tree, the bound may be out of reach.
double least_seconds(Collective collective, const Network& network,
                     std::span<const std::size_t> nodes, double bytes);

// By level: the time in seconds for which one edge of a ring all-reduce over this number of nodes
// occupies a domain's uplink. 0: the rate is unknown, or the level is NVLink's, which has no
// uplink.
std::vector<double> ring_step_seconds(const Links& links, std::size_t nodes, double bytes);

}  // namespace toprun::cost
