#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::worker {

// The variables for one worker in addition to those it inherits, as torchrun defines them
// (torch/distributed/elastic/agent/server/local_elastic_agent.py).
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
  int restart_count = 0;  // failures so far, the same on all nodes
  int max_restarts = 0;
  std::string run_id;
  std::string error_file;  // empty: none
  std::string node_name;
  std::string location;  // "/cluster/rack/node"; empty: unknown
  int attempt = 0;       // counts every attempt, membership changes too
  // For NCCL, Gloo and UCX; variables that the user set are not among them.
  std::vector<std::pair<std::string, std::string>> network;
  std::string signals_to_handle;  // "SIGTERM,SIGINT"; empty: not set
  // --virtual-local-rank: the only device that the worker may see, for CUDA_VISIBLE_DEVICES; its
  // LOCAL_RANK is then 0.
  std::optional<std::string> only_device;
};

// `inherited` plus the facts, without toprun's own variables: its secrets, its options and the
// PET_* variables that are torchrun options.
Environment worker_environment(const Environment& inherited, const WorkerFacts& facts);

// What worker_environment() gives to all of a node's workers alike, whatever their other facts are.
Environment common_environment(const Environment& inherited, int local_world_size);

// The only device that a worker sees: entry `local_rank` of the inherited CUDA_VISIBLE_DEVICES; the
// index itself if the variable is unset; none if it is empty. An error if the list is shorter.
Result<std::string> only_device(const Environment& inherited, int local_rank);

// True if workers get OMP_NUM_THREADS=1 because the user did not set it and the node has several
// workers. The caller reports this once.
bool sets_omp_num_threads(const Environment& inherited, int local_world_size);

// Arguments with torchrun's macro ${local_rank} replaced.
std::vector<std::string> with_local_rank(std::vector<std::string> arguments, int local_rank);

}  // namespace toprun::worker
