#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "placement/domains.h"

namespace toprun::placement {

// An order after nodes were lost or came anew that moves as few nodes as possible: each that had a
// seat among the first n keeps it, n being how many there are now. A free seat goes to the node
// that shares the most levels with the seats beside it, of equal ones to the first in `sorted`.
// `sorted` has the nodes as they would stand otherwise; `seats[i]` is where node sorted[i] stood
// before, nullopt if it is new. No two nodes had one seat.
std::vector<std::size_t> seated_as_before(std::span<const std::size_t> sorted,
                                          std::span<const std::optional<std::size_t>> seats,
                                          const Domains& domains);

}  // namespace toprun::placement
