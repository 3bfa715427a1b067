#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "machine/fabric/counters.h"
#include "machine/fabric/nccl_log.h"
#include "machine/fabric/settings.h"

namespace toprun::fabric {

inline constexpr std::size_t max_troubles = 8;
inline constexpr std::size_t max_networks = 16;

// The network that a node's ranks used in one attempt.
struct NetworkUse {
  std::set<std::string> networks;     // NCCL's names: "IB", "Socket", "AWS Libfabric"
  int ranks = 0;                      // number of ranks that communicated with other nodes
  int gpu_direct = 0;                 // how many of these ranks avoided a copy in host memory
  std::vector<std::string> troubles;  // one sentence each, at most max_troubles
  std::set<std::string> nccl{};       // versions: "2.27.3"
};

// Returns the transport with which NCCL should reach other nodes on this node's network.
FastPath fast_path(const NodeFabric& node);

// Determines which network a node's ranks used. The input is the ranks' NCCL logs, and by how much
// the counters of the node's RDMA ports have grown.
NetworkUse judge(std::span<const NcclLog> logs, std::span<const PortCounters> growth,
                 const NodeFabric& node);

// Describes the networks of all nodes for users. The first line names the networks that were used.
// One line follows for each problem, with the hosts that have it. Empty: no rank communicated with
// another node through NCCL.
using NetworkByHost = std::pair<std::string, NetworkUse>;
std::vector<std::string> network_lines(std::span<const NetworkByHost> nodes);

}  // namespace toprun::fabric
