#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"

namespace toprun::engines {

// The role of this process among the processes that an engine started.
enum class Stance {
  single,    // one process on one node, which runs all ranks of the job
  agent,     // one process per node: this process is its node's agent
  in_place,  // one process per rank: this process joins the run and becomes its rank
  starter,   // in a batch script or an allocation's shell: this process must first start one agent
             // per node
};

// The program that started this process, or that will start the agents.
enum class EngineKind { local, manual, mpi, slurm, ssh, kubernetes, exec };
std::string_view name_of(EngineKind kind);  // "slurm"
// Whether each agent is started by its own login: ssh, or exec into a pod. Such an agent ends with
// its login.
constexpr bool is_by_login(EngineKind kind) {
  return kind == EngineKind::ssh || kind == EngineKind::exec;
}

struct Node {
  std::string name;  // the name that the engine uses
  // The number of processes that the user requested on this node. If the stance is in_place: the
  // number of processes that the engine started on this node.
  std::optional<int> slots;
  std::string login = {};  // ssh: the login target, such as user@name
  // exec: the command prefix that runs a command in this pod.
  std::vector<std::string> exec = {};
  std::string address = {};  // exec: the pod's address
};

// What one engine knows about where this process runs. Each fact comes with its source.
struct Allocation {
  EngineKind engine = EngineKind::local;
  Stance stance = Stance::single;
  int node_count = 1;             // nodes of this launch, at least 1
  bool nodes_estimated = false;   // node_count is uncertain, and other processes may estimate
                                  // another number
  std::string node_count_source;  // "--nnodes", "PET_NNODES", "SLURM_STEP_NODELIST", "default" …
  // The launch's nodes including its spares, in the engine's order. If the stance is `starter`: all
  // nodes of the allocation. The nodes after the first node_count are spares or are not needed.
  // Empty if no source lists the nodes ("local", mostly "manual").
  std::vector<Node> nodes;
  bool chosen = false;  // starter: use exactly the nodes in `nodes`
  // The index of this node in the engine's order of nodes; not the node's group rank. 0 ≤ my_node <
  // nodes.size(), or < node_count if no source lists the nodes.
  std::optional<int> my_node;
  std::optional<int> local_rank;        // in_place: this process's rank on its node
  std::optional<int> tasks_on_my_node;  // in_place: number of processes on this node
  // This process's number among all processes that the engine started; `tasks` is the number of
  // these processes. Set if the engine does not number nodes. The root has number 0.
  std::optional<int> task;
  int tasks = 0;
  // This process's number among the engine's tasks. Set if the engine also numbers nodes. Tasks and
  // nodes are in the same order, unless the user laid out the tasks (srun -m arbitrary).
  std::optional<int> task_in_order;
  // If no source lists the nodes: the hosts that may run the engine's first process, the most
  // likely host first.
  std::vector<std::string> root_candidates;
  std::string node_name;  // the engine's name of this node, otherwise the host name
  // An identifier of job and step, the same on all members: "slurm.17.0", "slurm.alps.17.0". Empty
  // if the engine has no such identifier.
  std::string job;
  std::string job_id;       // Run:AI's JOB_UUID; set in pods whose `job` is not in any file name
  std::string key;          // a secret that the engine gave all members; empty: none
  std::optional<int> port;  // the port that the engine's formula gives
  // The root agent's node, and the address under which other nodes reach it. Unset or empty, unless
  // the program that started this agent supplied them.
  std::optional<int> root_node;
  std::string root_address;
  // This node's location in the network, not parsed yet (SLURM_TOPOLOGY_ADDR and
  // SLURM_TOPOLOGY_ADDR_PATTERN).
  std::optional<std::string> location;
  std::optional<std::string> location_pattern;
  // The default time between the engine's first signal to a job and SIGKILL. Unset: the engine
  // sends no SIGKILL.
  std::optional<std::chrono::seconds> kill_wait;
  // The engine has started all processes of this launch together. If a process exits with another
  // code than 0, perhaps the engine ends the other processes. Therefore only the root, which ends
  // last, is allowed to return another code than 0.
  bool started_together = false;
  // The engine restarts no process that ended, and uses only the root's exit code. Therefore the
  // other processes return 0 at the run's end.
  bool root_speaks = false;
  // The engine restarts a process that ends with 128 or more, as if it was lost. Therefore the
  // run's own exit code is always below 128.
  bool lost_return = false;
  // A toprun whose stance is `starter` started this process. It sends the job's secret on standard
  // input.
  bool started_by_toprun = false;
  // True: this process receives the launcher's messages on standard input. False: it gets the
  // secret in TOPRUN_SECRET instead, and no signals from the launcher.
  bool hears_launcher = true;
  std::vector<std::string> reasons;  // for -v: one line per decision
  std::vector<std::string> notes;    // one line each, always shown to the user
};

// Returns the port for a job number: from 61000 to 65535, above the ephemeral ports.
constexpr int engine_port(std::int64_t number) {
  return static_cast<int>(61'000 + number % 4'536);
}

// Returns the text with which toprun's launchers pass the nodes in one variable: "n0=4,n1" (4
// processes on n0). If a node's number of processes is unknown, only its name is listed.
std::string node_list_text(std::span<const Node> nodes);
// Parses the text of node_list_text(). Errors name `variable`, which contains the text.
Result<std::vector<Node>> parse_node_list(std::string_view variable, std::string_view text);

// Returns the counts in Slurm's form, as in SLURM_TASKS_PER_NODE: "8(x4),2" is 8 8 8 8 2.
std::string count_list_text(std::span<const int> counts);

}  // namespace toprun::engines
