#pragma once

#include <optional>
#include <span>
#include <string>

#include "bench/collective.h"
#include "measure/cells.h"

namespace toprun::measure {

// What links carry in each direction, in Gbps; unset: not known.
struct Rates {
  std::optional<double> node;    // a node's adapters together
  std::optional<double> uplink;  // of the innermost domain of the network, such as a rack
};

// The link that limits a collective, and what busbw it allows.
struct Limit {
  double busbw_gbps = 0;
  std::string link;  // "the uplink of /core/r0 sends 2 × busbw"
};

// From the bytes that the collective moves between each two ranks. Unset: no rate is known, or no
// bytes leave a node.
std::optional<Limit> limit_of(bench::Collective collective, const Cell& cell,
                              std::span<const Peer> peers, std::size_t root, const Rates& rates);

}  // namespace toprun::measure
