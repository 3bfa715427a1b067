#include "decide/placement/segments.h"

#include <algorithm>

namespace toprun::placement {
namespace {

using Nodes = std::span<const std::size_t>;
using Indexes = std::vector<std::size_t>;

class Builder {
 public:
  Builder(const cost::Domains& domains, std::size_t size) : domains_(domains), size_(size) {}

  Indexes run(Nodes sorted) {
    const Indexes rest = take_segments(sorted, 0);
    order_.insert(order_.end(), rest.begin(), rest.end());
    return std::move(order_);
  }

 private:
  // For nodes that share all levels around this one: appends their whole segments, returns the
  // rest.
  Indexes take_segments(Nodes nodes, std::size_t level) {
    Indexes rest = take_inner_segments(nodes, level);
    const auto whole = static_cast<std::ptrdiff_t>(rest.size() / size_ * size_);
    order_.insert(order_.end(), rest.begin(), rest.begin() + whole);
    rest.erase(rest.begin(), rest.begin() + whole);
    return rest;
  }

  // The same, but only for segments inside the domains of this level.
  Indexes take_inner_segments(Nodes nodes, std::size_t level) {
    if (level == domains_.levels()) return {nodes.begin(), nodes.end()};
    Indexes rest;
    while (!nodes.empty()) {
      const std::uint32_t place = domains_.place(nodes.front(), level);
      const auto end = std::ranges::find_if(
          nodes, [&](std::size_t node) { return domains_.place(node, level) != place; });
      const Nodes domain = nodes.first(static_cast<std::size_t>(end - nodes.begin()));
      // Nodes with an unknown domain share a place, but not a domain that could contain a segment.
      const bool known =
          domains_.domain(domain.front(), level) == domains_.domain(domain.back(), level);
      const Indexes left =
          known ? take_segments(domain, level + 1) : take_inner_segments(domain, level + 1);
      rest.insert(rest.end(), left.begin(), left.end());
      nodes = nodes.subspan(domain.size());
    }
    return rest;
  }

  const cost::Domains& domains_;
  std::size_t size_;
  Indexes order_;
};

}  // namespace

std::vector<std::size_t> in_segments(std::span<const std::size_t> sorted,
                                     const cost::Domains& domains, std::size_t size) {
  return Builder(domains, size).run(sorted);
}

std::vector<std::size_t> mixed_segments(std::span<const std::size_t> order,
                                        const cost::Domains& domains, std::size_t size) {
  Indexes mixed;
  if (domains.levels() == 0) return mixed;
  const std::size_t innermost = domains.levels() - 1;
  for (std::size_t first = 0; first < order.size(); first += size) {
    const Nodes segment = order.subspan(first, std::min(size, order.size() - first));
    const bool whole = std::ranges::all_of(segment, [&](std::size_t node) {
      return domains.domain(node, innermost) == domains.domain(segment.front(), innermost);
    });
    for (std::size_t i = 0; !whole && i < segment.size(); ++i) mixed.push_back(first + i);
  }
  return mixed;
}

}  // namespace toprun::placement
