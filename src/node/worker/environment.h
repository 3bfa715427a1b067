#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::worker {

// The values of the variables that one worker gets in addition to the inherited variables, with the
// same meaning as in torchrun (torch/distributed/elastic/agent/server/local_elastic_agent.py).
struct WorkerFacts {
  int rank = 0;
  int local_rank = 0;
  int local_world_size = 1;
  int world_size = 1;
  int group_rank = 0;  // the node's rank
  int group_world_size = 1;
  std::string role = "default";
  int role_rank = 0;
  int role_world_size = 1;
  std::string master_addr;
  int master_port = 0;
  int restart_count = 0;  // failures so far; the same number on all nodes
  int max_restarts = 0;
  std::string run_id;
  std::string error_file;  // empty: no error file
  std::string node_name;
  std::string location;  // "/cluster/rack/node"; empty: unknown
  std::string order;     // of the nodes: "topology", "name"; empty: unknown
  int attempt = 0;       // counts every attempt, including those after a change of membership
  // Variables for NCCL, Gloo and UCX, except those that the user has set.
  std::vector<std::pair<std::string, std::string>> network;
  std::string signals_to_handle;  // "SIGTERM,SIGINT"; empty: not set
  // --virtual-local-rank: the only device that the worker may see, for CUDA_VISIBLE_DEVICES; in
  // this case, LOCAL_RANK is 0.
  std::optional<std::string> only_device;
};

// Returns `inherited` with the variables of `facts`, without toprun's own variables: its secrets,
// its options, and the PET_* variables that are torchrun options.
Environment worker_environment(const Environment& inherited, const WorkerFacts& facts);

// Returns the variables that worker_environment() sets to the same values for all of a node's
// workers.
Environment common_environment(const Environment& inherited, int local_world_size);

// Returns the only device that a worker sees (--virtual-local-rank): entry `local_rank` of the
// inherited CUDA_VISIBLE_DEVICES. If the variable is unset, returns `local_rank` itself; if it is
// empty, the worker sees no device. Error: the list has too few entries.
Result<std::string> only_device(const Environment& inherited, int local_rank);

// True if workers get OMP_NUM_THREADS=1 because the user did not set it and the node has several
// workers. The caller reports this setting once.
bool sets_omp_num_threads(const Environment& inherited, int local_world_size);

// Replaces torchrun's macro ${local_rank} in the arguments.
std::vector<std::string> with_local_rank(std::vector<std::string> arguments, int local_rank);

}  // namespace toprun::worker
