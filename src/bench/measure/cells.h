#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"
#include "bench/measure/mesh.h"
#include "bench/measure/request.h"

namespace toprun::measure {

// The orders of the ranks that can be compared. "topology": toprun's order, which follows the
// network. "hostname": by host name, as in torchrun. "worst": as many neighbours as possible are in
// different domains.
inline constexpr std::array<std::string_view, 3> order_names = {"topology", "hostname", "worst"};

// The networks over which NCCL can be compared: NCCL's own choice, and TCP sockets.
inline constexpr std::array<std::string_view, 2> fabric_names = {"rdma", "tcp"};

// The innermost domain that contains the rank's node, such as "/core/r0". Empty: the domain is
// unknown.
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
  // One remark for each requested order that is the same as another order, such as "order worst is
  // left out: it is the same as order hostname".
  std::vector<std::string> dropped;
};

// Combines every backend with every order of every set of ranks in the request. A set contains the
// first nodes or ranks in the network's order, so rank 0 is in every set. If two combinations have
// the same ranks in the same order, only one is measured for each backend and fabric. Cells on one
// node use only the first fabric. Error (exit_usage): the request names more nodes or ranks than
// the job has.
Result<Compared> compared(const Request& request, std::span<const Peer> peers);

}  // namespace toprun::measure
