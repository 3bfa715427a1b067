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

// The orders that can be compared: of the ranks, which toprun gives by the network; by host name,
// as torchrun gives them; and with neighbours in different domains wherever that can be.
inline constexpr std::array<std::string_view, 3> order_names = {"topology", "hostname", "worst"};

// The networks that NCCL can be compared over: the one that it chooses, and TCP sockets.
inline constexpr std::array<std::string_view, 2> fabric_names = {"rdma", "tcp"};

// The innermost domain that holds the rank's node, "/core/r0"; empty: not known.
std::string domain_of(const Peer& peer);

// What is measured beside the others: some of the ranks in one order.
struct Cell {
  std::string backend;
  std::string fabric;  // empty: the backend's own
  std::string order;
  std::size_t nodes = 1;
  std::vector<std::size_t> ranks;  // in the order of the ring

  std::optional<std::size_t> position_of(std::size_t rank) const;
};

struct Compared {
  std::vector<Cell> cells;
  // What the request names and would be measured twice: "worst is the same order as hostname".
  std::vector<std::string> dropped;
};

// Every backend with every order of every set of ranks that the request names: the first nodes or
// ranks in the network's order, which always hold rank 0. Cells of the same ranks in the same order
// come once for each backend and fabric; those of one node for the first fabric only. Error
// (exit_usage): more nodes or ranks than there are.
Result<Compared> compared(const Request& request, std::span<const Peer> peers);

}  // namespace toprun::measure
