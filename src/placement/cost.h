#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "placement/loads.h"

namespace toprun::placement {

// What a collective over nodes in a given order costs: steps · α + the worst link's bytes / its
// rate. α is the latency between the two nodes that are furthest apart, and all flows of the
// collective are under way at once, so that the link with the most to carry for its rate sets the
// pace. docs/placement.md has the formulas, and the figures beside measured ones.
//
// Assumed: one flow from node to node, whatever the number of processes on each, as where the
// processes of a node first do their part among themselves (NCCL; several rings over several
// adapters carry together what this one carries); time inside a node is none; uplinks are shared
// fairly; nobody else is on the network; bytes are the program's own, so that a link's figure is
// what it carries of those, without frames and headers.
enum class Collective {
  ring,        // all-reduce: 2(N−1) steps, in each S/N over every edge of the ring
  tree,        // all-reduce along NCCL's double binary tree: S/2 up and down each tree
  all_to_all,  // S/N from each node to each
};

struct CollectiveName {
  Collective collective;
  std::string_view key;   // in JSON
  std::string_view text;  // for people
};
inline constexpr std::array collectives = {
    CollectiveName{Collective::ring, "ring", "ring all-reduce"},
    CollectiveName{Collective::tree, "tree", "tree all-reduce"},
    CollectiveName{Collective::all_to_all, "all_to_all", "all-to-all"},
};

struct Cost {
  double seconds = 0;
  std::optional<Load> worst;  // of all steps together; nothing: one node alone
};

// `order`: different nodes of the network, those that run processes. `bytes`: S, on each node.
Cost cost_of(Collective collective, const Network& network, std::span<const std::size_t> order,
             double bytes);

// A time that no order of these nodes is below. For the ring it is the least: an order with every
// domain's nodes in a row reaches it, unless NVLink is slower than adapters. All-to-all costs the
// same in every order. For the tree it is a bound that need not be reached.
double least_seconds(Collective collective, const Network& network,
                     std::span<const std::size_t> nodes, double bytes);

// By level: seconds for which one edge of a ring all-reduce over so many nodes occupies a domain's
// uplink. 0: the figure is not known, or the level is NVLink's, which has no uplink.
std::vector<double> ring_step_seconds(const Links& links, std::size_t nodes, double bytes);

}  // namespace toprun::placement
