#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "placement/domains.h"
#include "placement/links.h"

namespace toprun::placement {

// The job's nodes in a tree of links, as the cost model sees them.
//
// A domain's uplink joins it to the domain around it, a host's adapters join the host to its
// innermost domain, each link in two directions that do not disturb each other. What goes from one
// node to another takes the sender's adapters, the uplinks outwards of the domains that it leaves,
// those inwards of the domains that it enters, and the receiver's adapters. Two hosts of one NVLink
// domain take the sender's and the receiver's NVLink instead and nothing else.
//
// Domains are nested here: nodes that share one share all around it, also where these are not
// known. A node whose domain is not known is alone in it; nodes that have none of a level have no
// uplink there.
class Network {
 public:
  // `domains` are those of `nodes` nodes and have a level for each of `links.levels`.
  Network(const Domains& domains, std::size_t nodes, Links links);

  const Links& links() const { return links_; }
  std::size_t nodes() const { return nodes_; }
  std::size_t levels() const { return links_.levels.size(); }
  // A level's link; `level` = levels(): the hosts' adapters.
  const Links::Level& link(std::size_t level) const {
    return level == levels() ? links_.host : links_.levels[level];
  }
  // Equal for two nodes iff they share the domain; below count(level).
  std::uint32_t domain(std::size_t node, std::size_t level) const {
    return domain_[node * levels() + level];
  }
  std::size_t count(std::size_t level) const { return first_[level].size(); }
  // A node of the domain.
  std::size_t first(std::uint32_t domain, std::size_t level) const { return first_[level][domain]; }

  // Whether the domain has an uplink; else it stands for nodes without one at this level.
  bool has_uplink(std::uint32_t domain, std::size_t level) const { return uplink_[level][domain]; }

  std::optional<std::size_t> nvlink_level() const { return nvlink_; }
  bool by_nvlink(std::size_t a, std::size_t b) const {
    return nvlink_ && domain(a, *nvlink_) == domain(b, *nvlink_) &&
           has_uplink(domain(a, *nvlink_), *nvlink_);
  }

  // How many of the nodes each domain of the level holds; 0 where it has no uplink.
  std::vector<std::size_t> sizes(std::span<const std::size_t> nodes, std::size_t level) const;
  // Whether a domain of the level with an uplink holds some of them and not the others.
  bool divides(std::span<const std::size_t> nodes, std::size_t level) const;
  // Of a message between the two that are furthest apart.
  double latency_us(std::span<const std::size_t> nodes) const;

 private:
  std::size_t nodes_;
  Links links_;
  std::optional<std::size_t> nvlink_;  // the outermost, if there are several
  std::vector<std::uint32_t> domain_;
  std::vector<std::vector<std::size_t>> first_;
  std::vector<std::vector<bool>> uplink_;
};

// What one link carries in one direction, and how long that takes it.
struct Load {
  std::size_t level = 0;  // of the network; levels(): a host's adapters
  std::size_t node = 0;   // the host, or a node of the domain
  std::size_t flows = 0;
  double bytes = 0;
  double seconds = 0;
};

// What flows at the same time add to every link.
class Loads {
 public:
  explicit Loads(const Network& network);  // which must outlive this

  // One flow between two different nodes.
  void add(std::size_t from, std::size_t to, double bytes);
  // A flow from each of the nodes to each other, counted by domain instead of one by one.
  void add_all_pairs(std::span<const std::size_t> nodes, double bytes);

  // The link that needs longest, of several the outermost; nothing if none carries anything.
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
  std::vector<std::vector<Link>> uplinks_;  // by level and domain; an NVLink level's by node
  std::vector<Link> adapters_;              // by node
};

}  // namespace toprun::placement
