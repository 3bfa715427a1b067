#include "decide/cost/loads.h"

#include <algorithm>
#include <limits>

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

}  // namespace toprun::cost
