#pragma once

#include <optional>
#include <span>
#include <string>

#include "bench/measure/cells.h"
#include "bench/tables/collective.h"

namespace toprun::measure {

// The capacity of links in each direction, in Gbps; unset: unknown.
struct Rates {
  std::optional<double> node;    // a node's adapters together
  std::optional<double> uplink;  // of the innermost domain of the network, such as a rack
  double tcp_share = 1;          // the share of these bits that carries TCP's bytes
};

// What Ethernet frames have for TCP's bytes: their header, IP's and TCP's, which has time stamps,
// are left out. A shaper counts the same; a cable's preambles and gaps would take another 1.6 % at
// an MTU of 1500. `mtu` 0: not known, so nothing is left out.
double tcp_share(int mtu, bool is_ipv6);

// The link that limits a collective, and the busbw that the link allows.
struct Limit {
  double busbw_gbps = 0;
  std::string link;  // "the uplink of /core/r0 sends 2 × busbw"
  double share = 1;  // the share of the link's rate that carries the bytes, after the backend's
                     // protocol
};

// From the bytes that the collective moves between each two ranks. Of NCCL and RCCL the rate is the
// link's own, as in nccl-tests. Unset: no rate is known, or no bytes leave a node.
std::optional<Limit> limit_of(bench::Collective collective, const Cell& cell,
                              std::span<const Peer> peers, std::size_t root, const Rates& rates);

}  // namespace toprun::measure
