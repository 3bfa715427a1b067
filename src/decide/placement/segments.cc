#include "decide/placement/segments.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace toprun::placement {
namespace {

using Seat = std::optional<std::size_t>;  // index of the node in this seat

// The number of levels that the node shares with the nodes beside the seat; the seats form a ring.
std::size_t shared_levels(std::size_t node, std::size_t seat, std::span<const Seat> seated,
                          const cost::Domains& domains) {
  std::size_t shared = 0;
  const std::size_t count = seated.size();
  for (const std::size_t beside : {(seat + count - 1) % count, (seat + 1) % count}) {
    if (!seated[beside]) continue;
    for (std::size_t level = 0; level < domains.levels(); ++level) {
      if (domains.domain(node, level) == domains.domain(*seated[beside], level)) ++shared;
    }
  }
  return shared;
}

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

using Fixed = std::unordered_set<std::size_t>;

// The cost of a choice of nodes, compared from the front: the number of nodes outside whole
// segments, then the number of used domains of each level, outermost first.
using Cost = std::array<std::uint32_t, topology::max_levels + 1>;

Cost sum(Cost a, const Cost& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

// The choices with the least cost that leave out 0, 1, … nodes of a domain.
struct Ways {
  std::size_t size = 0;    // nodes of the domain
  std::vector<Cost> cost;  // by number of nodes left out, up to the maximum
  std::vector<Ways> inside;
  // shares[i][n]: if n nodes are left out of the domains up to inside[i], the number from
  // inside[i].
  std::vector<std::vector<std::uint32_t>> shares;
};

class Chooser {
 public:
  Chooser(const cost::Domains& domains, std::size_t segment, std::size_t spares, const Fixed& fixed)
      : domains_(domains),
        segment_(std::max<std::size_t>(segment, 1)),
        spares_(spares),
        fixed_(fixed) {}

  Ways ways(Nodes nodes, std::size_t level) const {
    Ways all{nodes.size(), {}, {}, {}};
    if (level == domains_.levels()) {
      for (std::size_t out = 0; out <= std::min(spares_, nodes.size() - fixed_among(nodes));
           ++out) {
        all.cost.push_back({static_cast<std::uint32_t>((nodes.size() - out) % segment_)});
      }
      return all;
    }
    all.cost.emplace_back();
    while (!nodes.empty()) {
      const Nodes domain = first_domain(nodes, level);
      nodes = nodes.subspan(domain.size());
      Ways one = ways(domain, level + 1);
      for (std::size_t out = 0; out < one.cost.size(); ++out) {
        if (out < one.size) ++one.cost[out][level + 1];
      }
      add(all, std::move(one));
    }
    return all;
  }

  // Appends the remaining nodes if `out` nodes are left out at the least cost.
  void take(const Ways& all, std::size_t out, Nodes nodes, std::vector<std::size_t>& kept) const {
    if (all.inside.empty()) return take_first(nodes, nodes.size() - out, kept);
    std::vector<std::size_t> shares(all.inside.size());
    for (std::size_t i = all.inside.size(); i-- > 0;) {
      shares[i] = all.shares[i][out];
      out -= shares[i];
    }
    for (std::size_t i = 0; i < all.inside.size(); ++i) {
      take(all.inside[i], shares[i], nodes.first(all.inside[i].size), kept);
      nodes = nodes.subspan(all.inside[i].size);
    }
  }

  Nodes first_domain(Nodes nodes, std::size_t level) const {
    const auto end = std::ranges::find_if(nodes, [&](std::size_t node) {
      return domains_.domain(node, level) != domains_.domain(nodes.front(), level);
    });
    return nodes.first(static_cast<std::size_t>(end - nodes.begin()));
  }

 private:
  std::size_t fixed_among(Nodes nodes) const {
    if (fixed_.empty()) return 0;
    return static_cast<std::size_t>(
        std::ranges::count_if(nodes, [&](std::size_t node) { return fixed_.contains(node); }));
  }

  // … `keep` nodes of an innermost domain: the fixed ones, and the first of the others.
  void take_first(Nodes nodes, std::size_t keep, std::vector<std::size_t>& kept) const {
    std::size_t others = keep - fixed_among(nodes);
    for (const std::size_t node : nodes) {
      const bool is_fixed = fixed_.contains(node);
      if (is_fixed || others > 0) kept.push_back(node);
      if (!is_fixed && others > 0) --others;
    }
  }

  // Adds one more domain behind the earlier inner domains.
  void add(Ways& all, Ways one) const {
    const std::size_t most = std::min(spares_, all.cost.size() + one.cost.size() - 2);
    std::vector<Cost> cost(most + 1);
    std::vector<std::uint32_t> share(most + 1);
    std::vector<bool> reached(most + 1);
    for (std::size_t before = 0; before < all.cost.size(); ++before) {
      for (std::size_t own = 0; own < one.cost.size() && before + own <= most; ++own) {
        const Cost both = sum(all.cost[before], one.cost[own]);
        const std::size_t out = before + own;
        // Prefers to leave out nodes of later domains: with equal costs, the larger share of the
        // later one wins.
        if (reached[out] && (cost[out] < both || (cost[out] == both && share[out] >= own)))
          continue;
        cost[out] = both;
        share[out] = static_cast<std::uint32_t>(own);
        reached[out] = true;
      }
    }
    all.cost = std::move(cost);
    all.shares.push_back(std::move(share));
    all.inside.push_back(std::move(one));
  }

  const cost::Domains& domains_;
  std::size_t segment_;
  std::size_t spares_;
  const Fixed& fixed_;
};

// Leaves out the smallest outermost domains until the exact choice among the rest is affordable.
std::vector<std::size_t> roughly_reduced(Nodes sorted, const cost::Domains& domains,
                                         std::size_t keep, const Fixed& fixed) {
  std::vector<Nodes> outermost;
  const Chooser chooser(domains, 1, 0, fixed);
  for (Nodes rest = sorted; !rest.empty() && domains.levels() > 0;) {
    outermost.push_back(chooser.first_domain(rest, 0));
    rest = rest.subspan(outermost.back().size());
  }
  std::vector<std::size_t> by_size(outermost.size());
  for (std::size_t i = 0; i < by_size.size(); ++i) by_size[i] = by_size.size() - 1 - i;
  std::ranges::stable_sort(by_size, {}, [&](std::size_t i) { return outermost[i].size(); });
  std::size_t left = sorted.size();
  for (const std::size_t i : by_size) {
    const bool affordable = left * (left - keep) <= max_spare_work;
    if (affordable || left - outermost[i].size() < keep) break;
    if (std::ranges::any_of(outermost[i], [&](std::size_t node) { return fixed.contains(node); })) {
      continue;
    }
    left -= outermost[i].size();
    outermost[i] = {};
  }
  if (left == sorted.size()) return {sorted.begin(), sorted.end()};
  std::vector<std::size_t> nodes;
  for (const Nodes domain : outermost) nodes.insert(nodes.end(), domain.begin(), domain.end());
  return nodes;
}

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

std::vector<std::size_t> without_spares(std::span<const std::size_t> sorted,
                                        const cost::Domains& domains, std::size_t keep,
                                        std::size_t segment, const Fixed& fixed) {
  const std::vector<std::size_t> nodes = roughly_reduced(sorted, domains, keep, fixed);
  if (keep >= nodes.size()) return nodes;
  const std::size_t spares = nodes.size() - keep;
  std::vector<std::size_t> kept;
  kept.reserve(keep);
  const Chooser chooser(domains, segment, spares, fixed);
  chooser.take(chooser.ways(nodes, 0), spares, nodes, kept);
  return kept;
}

std::vector<std::size_t> keep_seats(std::span<const std::size_t> sorted,
                                    std::span<const std::optional<std::size_t>> seats,
                                    const cost::Domains& domains) {
  std::vector<Seat> seated(sorted.size());
  std::vector<std::size_t> standing;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (seats[i] && *seats[i] < seated.size()) {
      seated[*seats[i]] = sorted[i];
    } else {
      standing.push_back(sorted[i]);
    }
  }
  for (std::size_t seat = 0; seat < seated.size(); ++seat) {
    if (seated[seat]) continue;
    const auto best = std::ranges::max_element(
        standing, {}, [&](std::size_t node) { return shared_levels(node, seat, seated, domains); });
    seated[seat] = *best;
    standing.erase(best);
  }
  std::vector<std::size_t> order;
  for (const Seat& node : seated) order.push_back(*node);
  return order;
}

}  // namespace toprun::placement
