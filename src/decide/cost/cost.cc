#include "decide/cost/cost.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "decide/cost/traffic.h"

namespace toprun::cost {
namespace {

constexpr std::uint32_t unseen = std::numeric_limits<std::uint32_t>::max();

// Makes the numbers of `domains` nested. They are not nested if a domain around a known one is
// unknown.
std::vector<std::uint32_t> nested(const Domains& domains, std::size_t nodes) {
  const std::size_t levels = domains.levels();
  std::vector<std::uint32_t> nested(nodes * levels);
  std::uint32_t largest = 0;
  for (std::size_t at = 0; at < nested.size(); ++at) {
    nested[at] = domains.domain(at / levels, at % levels);
    largest = std::max(largest, nested[at]);
  }
  for (std::size_t level = levels; level-- > 1;) {
    std::vector<std::uint32_t> around(largest + 1, unseen);
    for (std::size_t at = level; at < nested.size(); at += levels) {
      std::uint32_t& outer = around[nested[at]];
      if (outer == unseen) outer = nested[at - 1];
      nested[at - 1] = outer;
    }
  }
  return nested;
}

double gbps_of(const topology::Domain& domain, const Links::Level& link) {
  if (link.gbps_of_domain.empty() || !domain) return link.gbps;
  const auto found = link.gbps_of_domain.find(*domain);
  return found == link.gbps_of_domain.end() ? 0 : found->second;
}

using Nodes = std::span<const std::size_t>;

double seconds_of(double bytes, double gbps) {
  return gbps > 0 ? bytes * 8 / (gbps * 1e9) : 0;
}

// The total bytes over each edge of the ring in all steps.
double ring_edge_bytes(std::size_t count, double bytes) {
  return 2 * static_cast<double>(count - 1) * bytes / static_cast<double>(count);
}

std::size_t steps_of(Collective collective, std::size_t count) {
  switch (collective) {
    case Collective::ring:
      return 2 * (count - 1);
    case Collective::tree:
      return 2 * DoubleTree(count).depth;
    case Collective::all_to_all:
      return count - 1;
  }
  return 0;
}

double latency_seconds(Collective collective, const Network& network, Nodes nodes) {
  return static_cast<double>(steps_of(collective, nodes.size())) * network.latency_us(nodes) * 1e-6;
}

Loads ring_loads(const Network& network, Nodes order, double bytes) {
  Loads loads(network);
  const double edge_bytes = ring_edge_bytes(order.size(), bytes);
  for (std::size_t i = 0; i < order.size(); ++i) {
    loads.add(order[i], order[(i + 1) % order.size()], edge_bytes);
  }
  return loads;
}

Loads tree_loads(const Network& network, Nodes order, double bytes) {
  Loads loads(network);
  const DoubleTree trees(order.size());
  for (const auto& parent : trees.parent) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (parent[i] == i) continue;
      loads.add(order[i], order[parent[i]], bytes / 2);
      loads.add(order[parent[i]], order[i], bytes / 2);
    }
  }
  return loads;
}

Loads all_to_all_loads(const Network& network, Nodes nodes, double bytes) {
  Loads loads(network);
  loads.add_all_pairs(nodes, bytes / static_cast<double>(nodes.size()));
  return loads;
}

Loads loads_of(Collective collective, const Network& network, Nodes order, double bytes) {
  switch (collective) {
    case Collective::ring:
      return ring_loads(network, order, bytes);
    case Collective::tree:
      return tree_loads(network, order, bytes);
    case Collective::all_to_all:
      break;
  }
  return all_to_all_loads(network, order, bytes);
}

// A lower bound for the time of the busiest uplink of a level, where each domain that contains
// some of the nodes, but not all, is left by at least `bytes` of its number of nodes. Inside an
// NVLink domain only one domain is certain to be left, because NVLink may reach the nodes of the
// others, and none if some nodes have no uplink there.
template <class Bytes>
double least_uplink_seconds(const Network& network, Nodes nodes, std::size_t level,
                            const Bytes& bytes) {
  const auto nvlink = network.nvlink_level();
  const bool is_inside = nvlink && level > *nvlink;
  const std::vector<std::size_t> sizes = network.sizes(nodes, level);
  const auto with_uplink = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  if (is_inside && with_uplink < nodes.size()) return 0;
  std::optional<double> least;
  double most = 0;
  for (std::uint32_t domain = 0; domain < sizes.size(); ++domain) {
    if (sizes[domain] == 0 || sizes[domain] == nodes.size()) continue;
    const double seconds = seconds_of(bytes(sizes[domain]), network.uplink_gbps(domain, level));
    least = std::min(least.value_or(seconds), seconds);
    most = std::max(most, seconds);
  }
  return is_inside ? least.value_or(0) : most;
}

// A ring leaves each domain that contains some of the nodes, but not all, at least once. If there
// are several NVLink domains, at least one edge leaves each through adapters, and through the
// uplinks of all domains inside it around the edge's end. Each node in an NVLink domain has one
// flow over NVLink.
double least_ring_transfer(const Network& network, Nodes nodes, double bytes) {
  const double edge_bytes = ring_edge_bytes(nodes.size(), bytes);
  const auto nvlink = network.nvlink_level();
  if (nvlink && !network.divides(nodes, *nvlink)) {
    return seconds_of(edge_bytes, network.link(*nvlink).gbps);
  }
  double seconds = seconds_of(edge_bytes, network.links().host.gbps);
  for (std::size_t level = 0; level < network.levels(); ++level) {
    if (network.link(level).nvlink) continue;
    seconds = std::max(seconds, least_uplink_seconds(network, nodes, level,
                                                     [&](std::size_t) { return edge_bytes; }));
  }
  return seconds;
}

// One node has the position with the most neighbours, and its host's links together carry S/2 from
// and to each of them.
double least_tree_host_transfer(const Network& network, Nodes nodes, const DoubleTree& trees,
                                double bytes) {
  const double most = static_cast<double>(trees.most_neighbours) * bytes / 2;
  const double adapters_gbps = network.links().host.gbps;
  const auto nvlink = network.nvlink_level();
  if (!nvlink) return seconds_of(most, adapters_gbps);
  const double nvlink_gbps = network.link(*nvlink).gbps;
  if (!network.divides(nodes, *nvlink)) return seconds_of(most, nvlink_gbps);
  return std::max(seconds_of(most, adapters_gbps + nvlink_gbps),
                  seconds_of(bytes / 2, adapters_gbps));
}

// Each of the two trees connects all nodes. So its edges leave each domain at least as often as
// `fewest_leaving` for a group of that size; inside an NVLink domain, one domain by one tree.
double least_tree_transfer(const Network& network, Nodes nodes, double bytes) {
  const DoubleTree trees(nodes.size());
  double seconds = least_tree_host_transfer(network, nodes, trees, bytes);
  const auto nvlink = network.nvlink_level();
  if (nvlink && !network.divides(nodes, *nvlink)) return seconds;
  for (std::size_t level = 0; level < network.levels(); ++level) {
    if (network.link(level).nvlink) continue;
    const bool is_inside = nvlink && level > *nvlink;
    const auto leaving = [&](std::size_t size) {
      const std::size_t edges = is_inside ? 1 : 2 * trees.fewest_leaving(size);
      return static_cast<double>(edges) * bytes / 2;
    };
    seconds = std::max(seconds, least_uplink_seconds(network, nodes, level, leaving));
  }
  return seconds;
}

}  // namespace

Network::Network(const Domains& domains, std::span<const topology::Path* const> paths, Links links)
    : nodes_(paths.size()),
      links_(std::move(links)),
      domain_(nested(domains, paths.size())),
      first_(links_.levels.size()),
      uplink_(links_.levels.size()),
      gbps_(links_.levels.size()) {
  const auto nvlink = std::ranges::find(links_.levels, true, &Links::Level::nvlink);
  if (nvlink != links_.levels.end()) {
    nvlink_ = static_cast<std::size_t>(nvlink - links_.levels.begin());
  }
  for (std::size_t level = 0; level < levels(); ++level) {
    std::vector<std::uint32_t> number;
    for (std::size_t node = 0; node < nodes_; ++node) {
      std::uint32_t& domain = domain_[node * levels() + level];
      if (domain >= number.size()) number.resize(domain + 1, unseen);
      if (number[domain] == unseen) {
        number[domain] = static_cast<std::uint32_t>(first_[level].size());
        first_[level].push_back(node);
        uplink_[level].push_back(domains.is_own(domains.domain(node, level), level));
        gbps_[level].push_back(gbps_of((*paths[node])[level], links_.levels[level]));
      }
      domain = number[domain];
    }
  }
}

std::vector<std::size_t> Network::sizes(std::span<const std::size_t> nodes,
                                        std::size_t level) const {
  std::vector<std::size_t> sizes(count(level));
  for (const std::size_t node : nodes) {
    if (has_uplink(domain(node, level), level)) ++sizes[domain(node, level)];
  }
  return sizes;
}

bool Network::divides(std::span<const std::size_t> nodes, std::size_t level) const {
  const std::uint32_t first = domain(nodes.front(), level);
  return std::ranges::any_of(nodes, [&](std::size_t node) {
    const std::uint32_t other = domain(node, level);
    return other != first && (has_uplink(first, level) || has_uplink(other, level));
  });
}

double Network::latency_us(std::span<const std::size_t> nodes) const {
  if (nodes.size() < 2) return 0;
  if (nvlink_ && !divides(nodes, *nvlink_)) return links_.levels[*nvlink_].latency_us;
  // Domains are nested: two nodes that are in different domains of the outermost such level are
  // also in different domains at every level inside it.
  double latency_us = links_.host.latency_us;
  for (std::size_t level = 0; level < levels(); ++level) {
    const Links::Level& link = links_.levels[level];
    if (!link.nvlink && divides(nodes, level)) latency_us += link.latency_us;
  }
  return latency_us;
}

Loads::Loads(const Network& network) : network_(network), adapters_(network.nodes()) {
  for (std::size_t level = 0; level < network.levels(); ++level) {
    uplinks_.emplace_back(network.link(level).nvlink ? network.nodes() : network.count(level));
  }
}

void Loads::add(std::size_t from, std::size_t to, double bytes) {
  if (network_.by_nvlink(from, to)) {
    std::vector<Link>& hosts = uplinks_[*network_.nvlink_level()];
    hosts[from].out.add(1, bytes);
    hosts[to].in.add(1, bytes);
    return;
  }
  adapters_[from].out.add(1, bytes);
  adapters_[to].in.add(1, bytes);
  for (std::size_t level = network_.levels(); level-- > 0;) {
    const std::uint32_t left = network_.domain(from, level);
    const std::uint32_t entered = network_.domain(to, level);
    if (left == entered) return;
    if (network_.link(level).nvlink) continue;
    if (network_.has_uplink(left, level)) uplinks_[level][left].out.add(1, bytes);
    if (network_.has_uplink(entered, level)) uplinks_[level][entered].in.add(1, bytes);
  }
}

void Loads::add_all_pairs(std::span<const std::size_t> nodes, double bytes) {
  const std::size_t all = nodes.size();
  const auto add_both = [&](Link& link, std::size_t flows) {
    link.out.add(flows, bytes);
    link.in.add(flows, bytes);
  };
  const auto nvlink = network_.nvlink_level();
  const auto by_nvlink = nvlink ? network_.sizes(nodes, *nvlink) : std::vector<std::size_t>{};
  // The nodes that a node reaches by NVLink, including itself.
  const auto near = [&](std::size_t node) {
    return nvlink ? std::max<std::size_t>(by_nvlink[network_.domain(node, *nvlink)], 1) : 1;
  };
  for (const std::size_t node : nodes) {
    add_both(adapters_[node], all - near(node));
    if (nvlink) add_both(uplinks_[*nvlink][node], near(node) - 1);
  }
  for (std::size_t level = 0; level < network_.levels(); ++level) {
    if (network_.link(level).nvlink) continue;
    const auto sizes = network_.sizes(nodes, level);
    for (std::uint32_t domain = 0; domain < sizes.size(); ++domain) {
      const std::size_t inside =
          std::max(sizes[domain], nvlink ? near(network_.first(domain, level)) : 0);
      add_both(uplinks_[level][domain], sizes[domain] * (all - inside));
    }
  }
}

std::optional<Load> Loads::worst() const {
  std::optional<Load> worst;
  const auto consider = [&](std::size_t level, std::size_t node, double gbps, const Link& link) {
    if (gbps <= 0) return;
    for (const Traffic& traffic : {link.out, link.in}) {
      const double seconds = traffic.bytes * 8 / (gbps * 1e9);
      if (traffic.flows == 0 || (worst && seconds <= worst->seconds)) continue;
      worst = Load{level, node, traffic.flows, traffic.bytes, seconds};
    }
  };
  for (std::size_t level = 0; level < network_.levels(); ++level) {
    const Links::Level& link = network_.link(level);
    for (std::uint32_t i = 0; i < uplinks_[level].size(); ++i) {
      if (link.nvlink) {
        consider(level, i, link.gbps, uplinks_[level][i]);
      } else {
        consider(level, network_.first(i, level), network_.uplink_gbps(i, level),
                 uplinks_[level][i]);
      }
    }
  }
  for (std::size_t node = 0; node < adapters_.size(); ++node) {
    consider(network_.levels(), node, network_.links().host.gbps, adapters_[node]);
  }
  return worst;
}

Cost cost_of(Collective collective, const Network& network, Nodes order, double bytes) {
  if (order.size() < 2) return {};
  const auto worst = loads_of(collective, network, order, bytes).worst();
  const double transfer = worst ? worst->seconds : 0;
  return {latency_seconds(collective, network, order) + transfer, worst};
}

double least_seconds(Collective collective, const Network& network, Nodes nodes, double bytes) {
  if (nodes.size() < 2) return 0;
  const double latency = latency_seconds(collective, network, nodes);
  switch (collective) {
    case Collective::ring:
      return latency + least_ring_transfer(network, nodes, bytes);
    case Collective::tree:
      return latency + least_tree_transfer(network, nodes, bytes);
    case Collective::all_to_all:
      break;
  }
  return cost_of(Collective::all_to_all, network, nodes, bytes).seconds;
}

std::vector<double> ring_step_seconds(const Links& links, std::size_t nodes, double bytes) {
  std::vector<double> seconds;
  for (const Links::Level& level : links.levels) {
    const bool carries = !level.nvlink && nodes > 1;
    seconds.push_back(carries ? seconds_of(ring_edge_bytes(nodes, bytes), level.gbps) : 0);
  }
  return seconds;
}

}  // namespace toprun::cost
