#pragma once

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "decide/placement/plan.h"
#include "machine/container/container.h"
#include "node/plan/activation.h"
#include "node/worker/binding.h"
#include "run/conductor/settings.h"

namespace toprun::plan {

// An option's value, and where the user set it: "--nnodes", "PET_NNODES", "default".
template <class T>
struct Setting {
  T value{};
  std::string source = "default";
  bool is_set() const { return source != "default"; }
};

// What a worker runs: `python -u SCRIPT`, `python -u -m MODULE` or the program itself.
enum class Program { script, module, executable };

// Whether toprun makes NCCL write its log to a file. toprun reads this file to find out which
// network the workers used. `automatic`: toprun does this only on nodes with GPUs.
enum class FabricProof { automatic, on, off };
enum class Order { automatic, topology, name, scheduler, given, file };

// The streams of a worker to which --redirects or --tee applies. A StreamSet is a bit set: stdout =
// 1, stderr = 2.
using StreamSet = unsigned;

// The streams to which --redirects or --tee applies, for each local rank. `all` is used for local
// ranks without an entry in `by_local_rank`.
struct StreamMap {
  StreamSet all = 0;
  std::map<int, StreamSet> by_local_rank;
  bool empty() const {
    return all == 0 &&
           std::ranges::all_of(by_local_rank, [](const auto& entry) { return entry.second == 0; });
  }
  StreamSet of(int local_rank) const {
    const auto found = by_local_rank.find(local_rank);
    return found == by_local_rank.end() ? all : found->second;
  }
};

using worker::NumaBinding;

// The address at which a job's nodes meet, as in --rdzv-endpoint. An endpoint is written as
// host[:port]. An IPv6 literal is written in brackets; `host` does not contain the brackets.
struct Endpoint {
  std::string host;
  std::optional<int> port;  // 0 (one node only): the kernel chooses
};

// The options of `toprun [run]` with defaults from PET_* variables. The syntax of every value has
// been checked. It is not checked yet whether the GPUs or hosts that a value names exist.
struct Options {
  Program program = Program::script;
  std::string script;                  // path, module name or program
  std::vector<std::string> arguments;  // passed to the program unchanged

  Setting<std::string> hosts;          // hosts on which ssh starts agents, for example a,b[3-9]:4
  Setting<std::string> host_file;      // a file that lists the hosts, instead of `hosts`
  Setting<std::string> in_job;         // --in: a job with sleeping pods, instead of hosts; each pod
                                       // gets an agent
  bool detach = false;                 // the agents continue when the launcher ends
  Setting<std::optional<int>> nnodes;  // the maximum number of nodes; unset: the engine's number,
                                       // else 1
  std::optional<int> min_nodes;        // MIN in --nnodes MIN:MAX; unset: the same as nnodes
  // The value is "", a number ≥ 1, "cpu", "gpu" or "auto". The default is "1" if the program is
  // called as torchrun.
  Setting<std::string> nproc_per_node;
  Setting<std::optional<int>> node_rank;  // from --node-rank only
  // From PET_NODE_RANK: an index that identifies the node, but does not determine its node rank.
  Setting<std::optional<int>> node_index;
  Setting<std::optional<std::string>> master_addr;
  Setting<std::optional<int>> master_port;  // 0 (one node only): the kernel chooses
  Setting<std::optional<Endpoint>> rdzv_endpoint;
  Setting<std::string> rdzv_backend;             // "static" or "c10d"
  Setting<std::string> rdzv_id;                  // "none" unless given
  std::map<std::string, std::string> rdzv_conf;  // known keys only
  // True: the job runs on one node and ignores the engine. With --standalone, node_rank,
  // node_index, master_addr, master_port and rdzv_endpoint are unset and rdzv_backend is "c10d",
  // even if the user set other values.
  bool standalone = false;
  std::optional<std::string> local_addr;
  int max_restarts = 0;
  run::Grow grow = run::Grow::at_restart;
  std::string role = "default";
  bool virtual_local_rank = false;  // every worker gets LOCAL_RANK=0 and sees only one GPU
  std::optional<NumaBinding> numa_binding;
  // --warm: the modules that one Python imports before it forks this node's ranks.
  std::optional<std::vector<std::string>> warm;
  // --prefetch: the modules that each node reads from the file system before its ranks import them.
  std::optional<std::vector<std::string>> prefetch;
  // --stage: the folder or file that is copied to the nodes; empty: nothing is copied.
  std::string stage;
  std::optional<std::string> stage_to;  // the folder for copies on each node
  bool preflight = true;
  std::string node_check;  // a shell command that fails on a node that is unfit; empty: none

  // The agent forwards these signals to the workers, and ends the run after the grace period.
  // SIGUSR1 and SIGUSR2 are always forwarded, but end the run only if they are listed here.
  Setting<std::vector<int>> signals_to_handle{{SIGTERM, SIGINT, SIGHUP, SIGQUIT}};
  // Ranks that make no progress for this time are reported as a hang; unset: toprun does not look
  // for hangs.
  std::optional<std::chrono::seconds> hang_timeout;
  run::OnHang on_hang = run::OnHang::report;
  bool evicts = false;                                   // --evict auto
  std::vector<std::string> notify;                       // the commands and URLs for notices
  std::optional<std::chrono::seconds> shutdown_timeout;  // time from the first signal to SIGKILL

  StreamMap redirects;
  StreamMap tee;
  std::optional<std::string> log_dir;
  bool prefix = false;
  // The template of the prefix before each line of a worker's output, with the macros ${role_name}
  // ${local_rank} ${rank} ${hostname}; may be empty.
  std::string prefix_template;
  std::optional<std::vector<int>> local_ranks_filter;  // the console shows only these ranks
  // Lines that contain one of these texts, in streams that --tee copies, also go to one file for
  // all ranks.
  std::vector<std::string> duplicate_stdout_filters;
  std::vector<std::string> duplicate_stderr_filters;
  bool gather_output = false;  // the root's console also shows the other nodes' output
  bool fold = false;           // equal lines of many ranks are shown once
  bool progress = true;        // a terminal shows the progress of the launch
  // A log file is rotated before its size exceeds this limit.
  std::optional<std::uint64_t> log_max_bytes;

  Order order = Order::automatic;
  std::string order_file;         // used with Order::file
  std::string topology = "auto";  // auto, slurm, gcp … or a file
  bool topology_required = false;
  std::string fabric = "auto";  // auto, off or one of fabric::profiles()
  FabricProof fabric_proof = FabricProof::automatic;
  Setting<bool> require_rdma;  // the job ends if nodes communicate over plain sockets
  std::size_t segment = 1;     // this many consecutive nodes stay in one domain if possible
  bool stable = false;         // a restart moves as few nodes as possible
  std::optional<placement::Plan> plan;  // --parallel

  Activation activation;          // --modules, --conda, --venv, -e
  std::string accelerate_config;  // a configuration file for accelerate's launcher; empty: no file
  container::Request container;   // --container and its related options

  bool ranks_in_place = false;
  // The program that starts the agents (`via`) or every rank (`launcher`) on the hosts: "mpirun".
  // Empty if toprun itself starts the agents and ranks.
  Setting<std::string> via;
  Setting<std::string> launcher;
  bool dry_run = false;
  // --web: the address at which the root serves the job's page. The host in this address must be an
  // IP address.
  std::optional<Endpoint> web;
  std::optional<std::string> report;
  std::optional<std::string> node_log;  // folder for HOST.out with each node's output
  int verbose = 0;

  // The user's argv, including argv[0]. If toprun starts the agents by a step (such as srun), the
  // step runs this command again on every node.
  std::vector<std::string> command_line;
  bool called_torchrun = false;
  // The PET_* and TOPRUN_* environment variables that are set and give options their values.
  // Workers must not inherit these variables, because a toprun that a worker starts would use them.
  std::vector<std::string> option_variables;
};

// True if --node-rank affects neither the choice of the root nor which nodes are admitted. This is
// the case with c10d: torchrun ignores the option there, and scripts pass one value on every node.
inline bool node_rank_is_a_hint(const Options& options) {
  return options.rdzv_backend.value == "c10d";
}

}  // namespace toprun::plan
