#pragma once

#include <optional>
#include <span>
#include <string>

#include "bench/measure/cells.h"
#include "bench/tables/collective.h"

namespace toprun::measure {

// The capacity of links in each direction, in Gbps; unset: unknown.
struct Rates {
  std::optional<double> node;    // all adapters of a node together
  std::optional<double> uplink;  // the uplink of the innermost domain, such as a rack
  double tcp_share = 1;          // the share of the rate that TCP can use for its payload
};

// The share of Ethernet frames that is TCP's payload, without the headers of Ethernet, IP and TCP
// (with time stamps). A traffic shaper counts these frames too. On a cable, preambles and gaps
// would take another 1.6 % at an MTU of 1500. `mtu` 0: the MTU is unknown, so the result is 1.
double tcp_share(int mtu, bool is_ipv6);

// The link that limits a collective, and the busbw that the link allows.
struct Limit {
  double busbw_gbps = 0;
  std::string link;  // "the uplink of /core/r0 sends 2 × busbw"
  double share = 1;  // the share of the link's rate that the backend's protocol leaves for data
};

// Computes the limit from the bytes that the collective moves between each two ranks. For NCCL and
// RCCL, the whole rate of the link counts, as in nccl-tests. Unset: no rate is known, or no bytes
// leave a node.
std::optional<Limit> limit_of(bench::Collective collective, const Cell& cell,
                              std::span<const Peer> peers, std::size_t root, const Rates& rates);

}  // namespace toprun::measure
