#include "decide/placement/stable.h"

#include <algorithm>

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

}  // namespace

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
