#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"
#include "bench/measure/element.h"
#include "bench/measure/join.h"
#include "bench/measure/mesh.h"
#include "bench/measure/request.h"
#include "bench/measure/schedule.h"
#include "bench/tables/measurement.h"

namespace toprun::measure {

// The orders of the ranks that can be compared. "topology": toprun's order, which follows the
// network. "hostname": by host name, as in torchrun. "worst": as many neighbours as possible are in
// different domains.
inline constexpr std::array<std::string_view, 3> order_names = {"topology", "hostname", "worst"};

// The networks over which NCCL can be compared. "rdma": NCCL's own choice. "tcp": TCP sockets.
inline constexpr std::array<std::string_view, 2> fabric_names = {"rdma", "tcp"};

// Returns the innermost domain that contains the rank's node, such as "/core/r0". Empty if unknown.
std::string domain_of(const Peer& peer);

// A configuration to measure: a backend, a fabric, and some ranks in one order.
struct Cell {
  std::string backend;
  std::string fabric;  // empty: the backend's own choice
  std::string order;
  std::size_t nodes = 1;
  std::vector<std::size_t> ranks;  // in the order of the ring

  std::optional<std::size_t> position_of(std::size_t rank) const;
};

struct Compared {
  std::vector<Cell> cells;
  // Remarks on requested orders that are not measured. One reason is that two orders are the same:
  // "order worst is left out: it is the same as order hostname". If "topology" was requested but
  // the job has another order, another remark says so.
  std::vector<std::string> dropped;
};

// Returns the configurations to measure: every backend with every order of every set of ranks. A
// set contains the first nodes or ranks in the network's order, so rank 0 is in every set. If two
// combinations have the same ranks in the same order, only one is measured for each backend and
// fabric. On one node, only the first fabric of the request is measured. `job_order`: the order in
// which the launch put the nodes, such as "name"; empty: unknown. `job_order` is measured if
// --orders is not given. If --orders contains "topology", `job_order` is measured instead of it.
// Error (exit_usage): the request names more nodes or ranks than the job has.
Result<Compared> compared(const Request& request, std::span<const Peer> peers,
                          std::string_view job_order);

// One rank's TCP connections to the other ranks that measure the same cell (configuration).
class CellMesh {
 public:
  CellMesh(Group& group, const Cell& cell, const RingPosition& ring)
      : group_(group), cell_(cell), ring_(ring) {}

  const Cell& cell() const { return cell_; }
  const RingPosition& ring() const { return ring_; }

  // Connects this rank to its peers in the collective, which must all call connect() too.
  // `stripes`: the number of connections to each peer.
  Result<void> connect(bench::Collective collective, std::size_t stripes);
  // Returns the lanes (streams of data, lane.h) from plan() in schedule.h. The lanes use the
  // sockets that connect() opened.
  std::vector<Lane> lanes(bench::Collective collective, const Buffers& buffers,
                          std::size_t stripes) const;
  // Replaces each of `values` by the result of `op` over the cell's ranks.
  Result<void> combine_over_all(std::vector<double>& values, Op op,
                                std::chrono::milliseconds limit) const;
  // Waits until all ranks of the cell (configuration) have called barrier().
  Result<void> barrier(std::chrono::milliseconds limit) const;

 private:
  void bind(std::size_t position, std::size_t stripe, int& socket, std::string& name) const;

  Group& group_;
  const Cell& cell_;
  RingPosition ring_;
};

// The capacity of links in each direction, in Gbps; unset: unknown.
struct Rates {
  std::optional<double> node;    // all adapters of a node together
  std::optional<double> uplink;  // the uplink of the innermost domain, such as a rack
  double tcp_share = 1;          // the share of the rate that TCP can use for its payload
};

// Returns the share of the bytes in Ethernet frames that is TCP's payload. The other bytes are the
// headers of Ethernet, IP and TCP (with time stamps). Like this function, a traffic shaper counts
// the headers of Ethernet frames, but no preambles or gaps. On a cable, preambles and gaps would
// take another
// 1.6 % at an MTU of 1500. `mtu` 0: unknown, the result is 1.
double tcp_share(int mtu, bool is_ipv6);

inline constexpr std::string_view uplink_word = "the uplink of";  // begins Limit::link of an uplink

// The link that limits a collective, and the busbw that the link allows.
struct Limit {
  double busbw_gbps = 0;
  std::string link;  // "the uplink of /core/r0 sends 2 × busbw"
  double share = 1;  // the share of the link's rate that the backend's protocol leaves for data
};

// Computes the limit from the bytes that the collective moves between each two ranks. For NCCL and
// RCCL, nothing is subtracted from the link's rate for headers, as in nccl-tests. Unset if no rate
// is known, or the collective sends no bytes between nodes.
std::optional<Limit> limit_of(bench::Collective collective, const Cell& cell,
                              std::span<const Peer> peers, std::size_t root, const Rates& rates);

}  // namespace toprun::measure
