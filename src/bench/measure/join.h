#pragma once

#include <chrono>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "bench/measure/mesh.h"
#include "node/store/client.h"

namespace toprun::measure {

// One process of the job, as described by torchrun's environment variables.
struct Self {
  std::size_t rank = 0;
  std::size_t size = 1;
  std::size_t node = 0;   // GROUP_RANK
  std::size_t nodes = 1;  // GROUP_WORLD_SIZE
  std::string store_host;
  int store_port = 0;
  std::string attempt;    // TORCHELASTIC_RESTART_COUNT
  std::string location;   // TOPRUN_LOCATION
  std::string order;      // TOPRUN_RANK_ORDER, such as "topology" or "name"; empty: unknown
  std::string interface;  // the interface for sockets, from the network set-up or from the user;
                          // may be empty
};

// Fills a Self from the environment variables that torchrun sets for a rank. Error (exit_usage): a
// variable is missing or is not a number. The error says that the process was not started by
// `toprun bench`.
Result<Self> self_from(const Environment& environment);

// The job's ranks, and the connections from this rank to the other ranks.
struct Group {
  Self self;
  std::vector<Peer> peers;  // by rank
  Mesh mesh;
  store::Client store;

  // Returns the number of ranks on this rank's node, including this rank.
  std::size_t ranks_here() const;
};

// Connects to the job's store on self.store_host.
Result<store::Client> connect_store(const Self& self, std::chrono::milliseconds limit);

// Finds the other ranks through the job's store (PyTorch's TCPStore protocol). Waits at most
// `limit`.
Result<Group> join(const Self& self, std::chrono::milliseconds limit);

}  // namespace toprun::measure
