#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "decide/cost/loads.h"

namespace toprun::cost {

// The cost of a collective over nodes in a given order: steps · α + (bytes on the worst link) /
// (its rate). α is the latency between the two nodes that are furthest apart. All flows of the
// collective run at the same time, so the link with the longest transfer time determines the
// duration. docs/concepts/placement.md has the formulas, and compares their results with
// measurements.
//
// Assumptions:
//   - There is one flow between two nodes, whatever the number of processes on each. The reason is
//     that a node's processes first combine their parts (NCCL). If NCCL uses several rings over
//     several adapters, the rings together carry the same bytes as this flow.
//   - A transfer inside a node takes no time.
//   - Uplinks are shared fairly, and the network has no other traffic.
//   - Bytes are the program's data, without frames and headers.
enum class Collective {
  ring,        // all-reduce in 2(N−1) steps; each step sends S/N over every edge of the ring
  tree,        // all-reduce along NCCL's double binary tree: S/2 up and S/2 down in each tree
  all_to_all,  // each node sends S/N to each other node
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
  std::optional<Load> worst;  // the link with the longest time, all steps together; unset if there
                              // is only one node
};

// `order`: distinct nodes of the network, each with processes. `bytes`: S, on each node.
Cost cost_of(Collective collective, const Network& network, std::span<const std::size_t> order,
             double bytes);

// A lower bound: in every order of these nodes, the collective takes at least as long as this
// bound. For the ring, this bound is the minimum: an order takes this time if the nodes of each
// domain are consecutive, unless NVLink is slower than the adapters. All-to-all takes the same time
// in every order. For the tree, perhaps no order is as fast as the bound.
double least_seconds(Collective collective, const Network& network,
                     std::span<const std::size_t> nodes, double bytes);

// For each level: the number of seconds for which one edge of the ring occupies a domain's uplink,
// in an all-reduce over this number of nodes. 0: the rate is unknown, or the level is NVLink's,
// which has no uplink.
std::vector<double> ring_step_seconds(const Links& links, std::size_t nodes, double bytes);

}  // namespace toprun::cost
