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

// The network that a node's ranks used in an attempt.
struct NetworkUse {
  std::set<std::string> networks;     // as NCCL calls them: "IB", "Socket", "AWS Libfabric"
  int ranks = 0;                      // that communicated with other nodes
  int gpu_direct = 0;                 // of these, without a copy in the host's memory
  std::vector<std::string> troubles;  // one sentence each, max_troubles
  std::set<std::string> nccl{};       // versions: "2.27.3"
};

// By which transport NCCL reaches other nodes on this node's network.
FastPath fast_path(const NodeFabric& node);

// From what NCCL wrote in each of the node's ranks and how the counters of its RDMA ports grew.
NetworkUse judge(std::span<const NcclLog> logs, std::span<const PortCounters> growth,
                 const NodeFabric& node);

// What the user reads of all nodes' networks: first a line that says what was used, then one for
// each trouble with its hosts. Empty: no rank communicated with another node by NCCL.
using NetworkByHost = std::pair<std::string, NetworkUse>;
std::vector<std::string> network_lines(std::span<const NetworkByHost> nodes);

}  // namespace toprun::fabric
