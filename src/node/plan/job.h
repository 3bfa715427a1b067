#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/net/address.h"
#include "base/os/environment.h"
#include "base/text/error.h"
#include "engines/allocation.h"
#include "node/link/channel.h"
#include "node/plan/options.h"
#include "node/worker/spawn/spawn.h"
#include "run/conductor/conductor.h"

namespace toprun::plan {

// All facts that a process of a run has before it joins the other processes.
struct Job {
  Options options;
  Environment environment;  // as this process inherited it
  spawn::Inherited inherited;
  engines::Allocation place;  // detected from the environment

  int nnodes = 1;  // the maximum
  std::string nnodes_source;
  int min_nodes = 1;  // less than nnodes only with --nnodes MIN:MAX
  int tasks = 1;      // if srun or mpirun started the ranks: the number of tasks in the step
  int nproc = 1;      // number of workers of this process
  std::string nproc_source;
  std::vector<std::string> program;  // the workers' command line
  std::string program_reason;        // why this Python was chosen
  // Why this node cannot take part in the run; unset if it can. The agent then only reports this
  // reason to the root, because other nodes may be waiting.
  std::optional<Error> unfit;

  std::string run_id;  // TORCHELASTIC_RUN_ID
  std::string name;    // a name that distinguishes the job from other jobs on the same port
  // Whether this process is the root. Unset: the process on the host with the endpoint's address
  // becomes the root.
  std::optional<bool> is_root;
  std::string root_host;                      // where the root listens; empty with one node
  std::vector<std::string> other_root_hosts;  // other hosts on which the root may listen, if this
                                              // is uncertain
  std::string root_beside_endpoint;  // a second host on which to look for the root, if root_host
                                     // may not be a node of the job
  bool is_root_if_no_other = false;  // RootPlace::if_no_other
  std::vector<int> ports;            // the job's port, then the ports to try if another program
                                     // holds the job's port
  bool port_is_ours_to_choose = true;

  link::Patience patience;
  // Interval of an agent's heartbeats to its keeper (node/worker/keeper.h).
  std::chrono::milliseconds keeper_beat{1'000};
  std::chrono::milliseconds join_timeout{600'000};
  std::chrono::milliseconds last_call{30'000};  // how long to wait for more nodes after the minimum
                                                // number has joined
  run::Grace grace;

  bool is_elastic() const { return min_nodes < nnodes; }
  // Whether another node may replace a lost node.
  bool replaces_nodes() const {
    const bool restarts = nnodes > 1 && options.max_restarts > 0;
    return place.stance != engines::Stance::in_place && (is_elastic() || restarts);
  }
  // Whether the allocation has spare nodes: more nodes than the job uses at its start.
  bool has_spares() const {
    return replaces_nodes() && place.nodes.size() > static_cast<std::size_t>(nnodes);
  }
  // Whether the job can continue without a lost node, or start although one is missing.
  bool goes_on_without_a_node() const { return is_elastic() || has_spares(); }
  // Whether the other nodes will join soon without further action. False if users, or the pods of a
  // job, start the agents one by one.
  bool others_come() const { return place.started_together || place.started_by_toprun; }
  // Whether each node of the job joins only once, because the engine has started one agent on each
  // of its nodes and will not start another. False for a step with its own endpoint, to which users
  // may add nodes by hand.
  bool each_node_comes_once() const {
    return others_come() && place.engine != engines::EngineKind::manual &&
           place.stance != engines::Stance::in_place;
  }
  // Whether the launch finds out where its nodes are in the network. With one node, this happens
  // only if the user requests it.
  bool locates() const {
    return nnodes > 1 || options.topology != "auto" || options.topology_required;
  }
  // Whether the user's Python environment is copied to the other nodes (--stage).
  bool stages() const {
    return !options.stage.empty() && several_processes() &&
           place.stance != engines::Stance::in_place;
  }
  // Whether the ranks run in a container, where programs and paths may differ from this process's.
  bool in_container() const { return !options.container.empty(); }
  // Whether the job runs on one host only.
  bool on_one_host() const { return nnodes == 1 && !place.nodes_estimated; }
  // Returns from which hosts the store and the root must be reachable.
  hosts::Reach reach() const;
  bool several_processes() const {
    return nnodes > 1 || place.stance == engines::Stance::in_place || place.started_by_toprun;
  }
  // True for a launcher that starts the agents by logins. The hosts or pods then count their own
  // GPUs and find Python themselves, because this host may have no GPUs and no Python.
  bool starts_by_login() const {
    return is_by_login(place.engine) && place.stance == engines::Stance::starter;
  }
};

// Combines the options, the environment and the facts from the engine. Of this machine, it examines
// only the number of GPUs and which Python to use.
Result<Job> prepare(const Options& options, const Environment& environment,
                    const spawn::Inherited& inherited);

}  // namespace toprun::plan
