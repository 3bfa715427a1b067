#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "decide/cost/domains.h"
#include "decide/cost/links.h"

namespace toprun::cost {

// The network of the cost model: the job's nodes in a tree of links.
//
// A domain's uplink connects it to the domain around it; a host's adapters connect the host to its
// innermost domain. Each link has two independent directions. A message between two nodes uses the
// adapters of the sender and of the receiver. The message also uses the outward uplinks of the
// domains that it leaves, and the inward uplinks of the domains that it enters. A message between
// two hosts of one NVLink domain uses only the sender's and the receiver's NVLink.
//
// Domains are nested: nodes that share a domain share all domains around it, even if the outer
// domains are unknown. A node with an unknown domain counts as a domain of its own. Nodes without a
// domain at a level have no uplink at that level.
class Network {
 public:
  // `domains` must be made from `paths`, with one level for each of `links.levels`.
  Network(const Domains& domains, std::span<const topology::Path* const> paths, Links links);

  const Links& links() const { return links_; }
  std::size_t nodes() const { return nodes_; }
  std::size_t levels() const { return links_.levels.size(); }
  // Returns a level's link, or the link of the hosts' adapters if `level` equals levels().
  const Links::Level& link(std::size_t level) const {
    return level == levels() ? links_.host : links_.levels[level];
  }
  // Returns the node's domain as a number below count(level). Two nodes have the same number if and
  // only if they share the domain.
  std::uint32_t domain(std::size_t node, std::size_t level) const {
    return domain_[node * levels() + level];
  }
  std::size_t count(std::size_t level) const { return first_[level].size(); }
  // Returns one node in the domain.
  std::size_t first(std::uint32_t domain, std::size_t level) const { return first_[level][domain]; }

  // Whether the domain has an uplink. False: the number stands for nodes without a domain at this
  // level.
  bool has_uplink(std::uint32_t domain, std::size_t level) const { return uplink_[level][domain]; }
  // Returns the rate of the domain's uplink; 0: unknown, so not a bottleneck.
  double uplink_gbps(std::uint32_t domain, std::size_t level) const { return gbps_[level][domain]; }

  std::optional<std::size_t> nvlink_level() const { return nvlink_; }
  bool by_nvlink(std::size_t a, std::size_t b) const {
    return nvlink_ && domain(a, *nvlink_) == domain(b, *nvlink_) &&
           has_uplink(domain(a, *nvlink_), *nvlink_);
  }

  // Counts how many of `nodes` each domain of the level contains. 0 for a domain without uplink.
  std::vector<std::size_t> sizes(std::span<const std::size_t> nodes, std::size_t level) const;
  // Whether a domain of this level has an uplink and contains some of `nodes`, but not all.
  bool divides(std::span<const std::size_t> nodes, std::size_t level) const;
  // Returns the latency of a message between the two nodes that are furthest apart.
  double latency_us(std::span<const std::size_t> nodes) const;

 private:
  std::size_t nodes_;
  Links links_;
  std::optional<std::size_t> nvlink_;  // if there are several such levels, the outermost
  std::vector<std::uint32_t> domain_;
  std::vector<std::vector<std::size_t>> first_;
  std::vector<std::vector<bool>> uplink_;
  std::vector<std::vector<double>> gbps_;
};

// The traffic over one link in one direction, and its duration.
struct Load {
  std::size_t level = 0;  // in the network; levels(): a host's adapters
  std::size_t node = 0;   // the host, or one node in the domain
  std::size_t flows = 0;
  double bytes = 0;
  double seconds = 0;
};

// The total traffic on every link, from flows that run at the same time.
class Loads {
 public:
  explicit Loads(const Network& network);  // must outlive this object

  // Adds one flow between two different nodes.
  void add(std::size_t from, std::size_t to, double bytes);
  // Adds a flow from each node to each other node. The function adds up whole domains instead of
  // single flows, so its time does not grow with the number of flows.
  void add_all_pairs(std::span<const std::size_t> nodes, double bytes);

  // Returns the link whose traffic takes longest, among equals the outermost. nullopt: no link has
  // traffic.
  std::optional<Load> worst() const;

 private:
  struct Traffic {
    std::size_t flows = 0;
    double bytes = 0;
    void add(std::size_t more, double bytes_each) {
      flows += more;
      bytes += static_cast<double>(more) * bytes_each;
    }
  };
  struct Link {
    Traffic out, in;
  };

  const Network& network_;
  std::vector<std::vector<Link>> uplinks_;  // by level and domain; for an NVLink level by node
  std::vector<Link> adapters_;              // by node
};

// The cost of a collective over nodes in one order: steps · α + (bytes on the worst link) / (its
// rate). Here, α is the latency between the two nodes that are furthest apart. All flows of the
// collective run at the same time, so the link with the longest transfer time determines the
// duration. For the formulas and a comparison with measurements, see docs/concepts/placement.md.
//
// Assumptions:
//   - The model has one flow between two nodes, however many processes each node has, because NCCL
//     first combines the parts of a node's processes. NCCL may split this traffic into several
//     rings over several adapters. Together, these rings carry as many bytes as the model's flow.
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

// Returns the cost of a collective. `order`: distinct nodes of the network. Each node runs at least
// one process. `bytes`: S, on each node.
Cost cost_of(Collective collective, const Network& network, std::span<const std::size_t> order,
             double bytes);

// Returns a lower bound: in every order of these nodes, the collective takes at least as long as
// this bound. For the ring, this bound is the minimum. An order reaches the minimum if the nodes of
// each domain are consecutive, unless NVLink is slower than the adapters. All-to-all takes the same
// time in every order. For the tree, perhaps no order is as fast as the bound.
double least_seconds(Collective collective, const Network& network,
                     std::span<const std::size_t> nodes, double bytes);

// Returns, for each level, how many seconds one ring edge occupies a domain's uplink. The ring
// performs one all-reduce of `bytes` over `nodes` nodes. 0: the rate is unknown, or the level is
// NVLink's, which has no uplink.
std::vector<double> ring_step_seconds(const Links& links, std::size_t nodes, double bytes);

}  // namespace toprun::cost
