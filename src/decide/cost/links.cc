#include "decide/cost/links.h"

#include <algorithm>
#include <cmath>

#include "base/text/text.h"

namespace toprun::cost {
namespace {

bool is_positive(double value) {
  return std::isfinite(value) && value > 0;
}

// The user's values for a level have priority over the source's values.
topology::Link known_link(std::string_view level, const LinksByLevel& user_links,
                          const LinksByLevel& read) {
  topology::Link link;
  for (const LinksByLevel* links : {&user_links, &read}) {
    const auto found = links->find(level);
    if (found == links->end()) continue;
    if (!link.gbps) link.gbps = found->second.gbps;
    if (!link.latency_us) link.latency_us = found->second.latency_us;
  }
  return link;
}

Links::Level level_of(std::string name, const topology::Link& link, double usual_gbps,
                      double usual_latency_us) {
  const bool nvlink = name == topology::nvlink_level;
  return {std::move(name), nvlink, link.gbps.value_or(usual_gbps),
          link.latency_us.value_or(usual_latency_us), !link.gbps.has_value()};
}

// The rates that the source has for single domains, unless the user has one for all of them.
std::map<std::string, double> rates_by_domain(const topology::Map& map, const std::string& level,
                                              const LinksByLevel& user_links) {
  const auto of_user = user_links.find(level);
  if (of_user != user_links.end() && of_user->second.gbps) return {};
  const auto of_source = map.domain_gbps.find(level);
  return of_source == map.domain_gbps.end() ? std::map<std::string, double>() : of_source->second;
}

constexpr double ends = 2;  // of a way, each with its own links

double seconds_per_byte(double gbps) {
  return 8 / (gbps * 1e9);
}

std::vector<double> seconds_by_shared(const Domains& domains, std::size_t nodes,
                                      const Links& links) {
  // The seconds that the uplinks of each level add for nodes in different domains of it.
  std::vector<double> seconds(domains.levels() + 1);
  seconds.back() = ends * seconds_per_byte(links.host.gbps);
  for (std::size_t level = domains.levels(); level-- > 0;) {
    const Links::Level& link = links.levels[level];
    seconds[level] = seconds[level + 1];
    if (link.nvlink) continue;
    const double hosts = static_cast<double>(nodes) / static_cast<double>(domains.count(level));
    seconds[level] += ends * seconds_per_byte(link.gbps > 0 ? link.gbps : hosts * links.host.gbps);
  }
  for (std::size_t level = 0; level < domains.levels(); ++level) {
    if (!links.levels[level].nvlink) continue;
    const double inside = ends * seconds_per_byte(links.levels[level].gbps);
    std::fill(seconds.begin() + static_cast<std::ptrdiff_t>(level) + 1, seconds.end(), inside);
    break;
  }
  for (std::size_t level = domains.levels(); level-- > 0;) {
    seconds[level] = std::max(seconds[level], seconds[level + 1]);
  }
  return seconds;
}

}  // namespace

Result<Links> links_of(const topology::Map& map, const LinksByLevel& user_links, int processes) {
  for (const auto& [level, link] : user_links) {
    if (level == topology::host_level || std::ranges::count(map.levels, level) > 0) continue;
    std::vector<std::string> names = map.levels;
    names.emplace_back(topology::host_level);
    return usage(fmt::format("--link {}", level), "the network does not have this level",
                 fmt::format("choose one of: {}", join(names, ", ")));
  }
  Links links;
  for (const std::string& level : map.levels) {
    const bool nvlink = level == topology::nvlink_level;
    links.levels.push_back(level_of(level, known_link(level, user_links, map.links),
                                    nvlink ? nvlink_gbps_per_process * processes : 0,
                                    nvlink ? nvlink_latency_us : switch_latency_us));
    if (!nvlink) links.levels.back().gbps_of_domain = rates_by_domain(map, level, user_links);
  }
  links.host = level_of(std::string(topology::host_level),
                        known_link(topology::host_level, user_links, map.links),
                        adapter_gbps_per_process * processes, host_latency_us);
  return links;
}

Result<std::pair<std::string, topology::Link>> parse_link(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return usage(fmt::format("--link {}", printable(text)), std::string(why),
                 "write LEVEL=GBPS or LEVEL=GBPS:MICROSECONDS, as in rack=400 or rack=400:2");
  };
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) return wrong("it names no level");
  const std::string_view figures = text.substr(equals + 1);
  const std::size_t colon = figures.find(':');
  topology::Link link{parse_double(figures.substr(0, colon)), std::nullopt};
  if (!link.gbps || !is_positive(*link.gbps)) {
    return wrong("the bandwidth is a number of gigabits per second above 0");
  }
  if (colon != std::string_view::npos) {
    link.latency_us = parse_double(figures.substr(colon + 1));
    if (!link.latency_us || !std::isfinite(*link.latency_us) || *link.latency_us < 0) {
      return wrong("the latency is a number of microseconds");
    }
  }
  return std::pair(std::string(text.substr(0, equals)), link);
}

Ways::Ways(const Domains& domains, std::size_t nodes, const Links& links)
    : nodes_(nodes),
      levels_(domains.levels()),
      domain_(nodes * levels_),
      seconds_(seconds_by_shared(domains, nodes, links)) {
  // An unknown domain gets a number behind those of known ones, whose numbers are their places; the
  // next inner domain represents it. A tag with the level keeps numbers of different levels
  // distinct.
  const auto tagged = [&](std::uint32_t number, std::size_t level) {
    return number * static_cast<std::uint32_t>(levels_) + static_cast<std::uint32_t>(level);
  };
  for (std::size_t node = 0; node < nodes; ++node) {
    for (std::size_t level = levels_; level-- > 0;) {
      const std::uint32_t number = domains.domain(node, level);
      const bool known = number == domains.place(node, level);
      domain_[node * levels_ + level] =
          known || level + 1 == levels_ ? tagged(number, level) : domain(node, level + 1);
    }
  }
}

}  // namespace toprun::cost
