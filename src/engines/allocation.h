#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace toprun::engines {

// What this process is among the processes that an engine started.
enum class Stance {
  single,    // no program started several of us: one node, all its ranks are ours
  agent,     // one process per node: we are this node's agent
  in_place,  // one process per rank: we join and become our rank
  starter,   // in a batch script or an allocation's shell: start one agent per node first
};

// Who started this process, or will start the agents.
enum class EngineKind { local, manual, mpi, slurm, ssh, kubernetes, exec };
std::string_view name_of(EngineKind kind);  // "slurm"
// Whether each agent has a login of its own, and lives as long as that.
constexpr bool is_by_login(EngineKind kind) {
  return kind == EngineKind::ssh || kind == EngineKind::exec;
}

struct Node {
  std::string name;  // as the engine names it
  // Processes that the user asked the engine for on this node; in_place: those that it started.
  std::optional<int> slots;
  std::string login = {};  // ssh: what reaches it, as in user@name
  // exec: the command that executes the words after it in this pod, and the pod's address.
  std::vector<std::string> exec = {};
  std::string address = {};
};

// One engine's view of where this process runs. Every fact says where it came from.
struct Allocation {
  EngineKind engine = EngineKind::local;
  Stance stance = Stance::single;
  int node_count = 1;             // nodes of this launch, at least 1
  bool nodes_estimated = false;   // node_count is not sure, and others may estimate otherwise
  std::string node_count_source;  // "--nnodes", "PET_NNODES", "SLURM_STEP_NODELIST", "default" …
  // In the engine's order. The launch's nodes, its spares included, or for a starter all nodes of
  // the allocation. Those above node_count are spares or are not needed. Empty where no source
  // lists them ("local", mostly "manual").
  std::vector<Node> nodes;
  bool chosen = false;  // starter: `nodes` are just those to be taken
  // Which of the launch's nodes this is, 0 ≤ my_node < nodes.size(), or < node_count where no
  // source lists them: an index, not the group rank.
  std::optional<int> my_node;
  std::optional<int> local_rank;        // in_place: which of its node's ranks we are
  std::optional<int> tasks_on_my_node;  // in_place
  // The engine's number of this process among all that it started, and how many these are, where it
  // does not number nodes. The root is number 0.
  std::optional<int> task;
  int tasks = 0;
  // The engine's number of this process in the order of its tasks, where it numbers nodes too.
  // Both agree unless the tasks were laid out by hand (srun -m arbitrary).
  std::optional<int> task_in_order;
  // Where no source lists the nodes: the hosts that may have the engine's first process, the
  // likeliest first.
  std::vector<std::string> root_candidates;
  std::string node_name;  // the engine's name of this node, else the host name
  // Identifies job and step among others, the same on all members: "slurm.17.0",
  // "slurm.alps.17.0"; empty where no engine does.
  std::string job;
  std::string job_id;       // in pods, where no file's name can hold it before: Run:AI's JOB_UUID
  std::string key;          // a secret that the engine gave all members; empty if none
  std::optional<int> port;  // P by the engine's formula
  // Which node the root agent is on and where the others reach it, if the launcher said so.
  std::optional<int> root_node;
  std::string root_address;
  // Evidence of this node's place in the network, raw: SLURM_TOPOLOGY_ADDR and its _PATTERN.
  std::optional<std::string> location;
  std::optional<std::string> location_pattern;
  // The engine's default time from its first signal to SIGKILL; unset: it sends no SIGKILL.
  std::optional<std::chrono::seconds> kill_wait;
  // The engine has started all processes of this launch together. At the first
  // exit code other than 0 it ends the others, or may be configured to: so only the root, which
  // ends last, may return one.
  bool started_together = false;
  // No process that has ended is started again, and what the root returns counts: the others return
  // 0 at the run's end.
  bool root_speaks = false;
  // A process that ends with 128 or more is started again, as one that was lost: the run's own code
  // is never one of these.
  bool lost_return = false;
  // Our own starter started us: the job's secret comes on standard input.
  bool started_by_toprun = false;
  bool hears_launcher = true;  // else it comes in TOPRUN_SECRET, and only others hear of signals
  std::vector<std::string> reasons;  // one line per decision, for -v
  std::vector<std::string> notes;    // one line each that the user should read in any case
};

// A job's port by its number: from 61000 to 65535, above the ephemeral ports.
constexpr int engine_port(std::int64_t number) {
  return static_cast<int>(61'000 + number % 4'536);
}

}  // namespace toprun::engines
