#include "decide/cost/ways.h"

#include <algorithm>

namespace toprun::cost {
namespace {

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
