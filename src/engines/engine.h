#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "engines/allocation.h"
#include "engines/mpi/pmi.h"

namespace toprun::engines {

// What the command line (or a PET_ variable in its stead) says about nodes. A source is the user's
// word for it: "--nnodes", "PET_NNODES"; only those that start with a dash are on the command line.
struct Hints {
  std::optional<int> nnodes;  // at least 1
  // Where it is given, every number from this to nnodes is right, and the largest is meant.
  std::optional<int> min_nodes;
  bool replaces_nodes = false;  // a job that loses a node goes on: more than nnodes are spares
  std::string nnodes_source;
  std::optional<int> node_rank;   // --node-rank, on the command line only
  std::optional<int> node_index;  // PET_NODE_RANK
  std::string endpoint_source;  // "--rdzv-endpoint", "--master-addr", "PET_…"; empty: none given
  std::string endpoint_host;    // … and the host in it
  bool standalone = false;
  bool ranks_in_place = false;
  bool called_torchrun = false;
  bool counts_processes = false;      // --nproc-per-node on the command line
  bool terminal = false;              // standard input is a terminal
  std::string host_name;              // for nodes that no engine names
  std::string host_domain;            // in a pod: what /etc/hosts has after the host's name
  std::vector<Node> hosts;            // --hosts or --hostfile; the pods of --in
  std::string hosts_source;           // which of them, or the variable in its stead
  std::optional<PmiMeeting> meeting;  // what Hydra's processes told each other
  int pbs_nodes = 0;                  // hosts in the file that PBS_NODEFILE names
  std::string via;  // the option by which mpirun is to start what runs on the nodes

  // How many of the nodes that an engine gives are to be used; unset: they are too few or too many.
  std::optional<int> use_of(int available) const {
    const int most = nnodes.value_or(available);
    if (available >= most) return most;
    return min_nodes && *min_nodes <= available ? std::optional(available) : std::nullopt;
  }
};

// How a starter starts one agent per node: a command, its environment; the job's secret goes to its
// standard input.
struct AgentCommand {
  std::vector<std::string> argv;
  Environment environment;
  // Standard input reaches the root's agent, but not all: TOPRUN_SECRET is to have the secret too.
  bool secret_by_variable = false;
};

struct AgentRequest {
  // toprun as every node finds it; where we were called by a link named torchrun, that link.
  std::string program;
  std::vector<std::string> arguments = {};  // the user's own, without argv[0]
  bool elastic = false;                     // the agents go on without a node that fails
  bool on_terminal = false;                 // a user watches what they print
  std::vector<std::string> variables = {};  // that they need, where the engine does not hand on all
  bool as_root = false;
  std::vector<std::string> options = {};  // of the engine's command, beside its own
};

// Why an engine ended a run.
struct Stop {
  enum class Reason {
    preemption,  // for another job
    requeue,     // to start this one again later: scontrol requeue
    time_limit,
  };
  Reason reason;
  std::string words;
};

struct Presence {
  std::vector<std::string> nodes;  // that have any
  bool may_be_late = false;        // a node that has none may not have begun yet
};

// Waits so long. False: the caller has no more time.
using Pause = std::function<bool(std::chrono::milliseconds)>;

// One engine that may have started us. detect() is pure and tells whether it did; one that it is
// not answers nothing. Adding an engine: its file, its test and a line in engines.cc.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual EngineKind kind() const = 0;
  virtual Result<std::optional<Allocation>> detect(const Environment& environment,
                                                   const Hints& hints) const = 0;
  // Only for an allocation whose stance is `starter`.
  virtual Result<AgentCommand> agent_command(const Environment& environment,
                                             const Allocation& allocation,
                                             const AgentRequest& request) const;
  // Asked when a signal has ended a run: why the engine did that; nullopt if it was not the engine,
  // or it has no reason of its own. May run a command, for engine_answer_limit at most.
  virtual std::optional<Stop> why_stopped(const Environment& environment) const;
  // How often the engine has put this job back into its queue before.
  virtual int requeues(const Environment& environment) const;
  // After a run that was preempted: puts the job back into the queue where the engine was asked to,
  // and would not do so by itself once the job's own processes have ended.
  virtual void put_back(const Environment& environment) const;
  // Whether this process is the engine's own, by which it signals the job's processes on this node.
  virtual bool owns(pid_t process) const;
  // Whether that goes to every process here, ranks included, and not only to what it has started.
  virtual bool signals_every_process(const Environment& environment) const;
  // On a node of an elastic run that hears no more of the root's node: if the engine finds that
  // node lost, and with it whatever would have ended the job, puts the job back into the queue or
  // ends it. Blocks until then, or until it is clear that there is no need.
  virtual void settle_orphaned(const Environment& environment, const Pause& pause) const;
  // Where the processes are that the engine started together with this one; nullopt: it does not
  // tell. Runs commands.
  virtual std::optional<Presence> presence(const Environment& environment) const;
  // Ends all of these processes. Runs a command.
  virtual void end_step(const Environment& environment) const;
};

inline constexpr std::chrono::seconds engine_answer_limit{2};

// All engines in the order in which they are asked; the last one always answers.
std::span<const Engine* const> engines();

// clang-format off
// Where am I? The first engine that knows:
//
//   | given                                               | and                   | stance            |
//   |-----------------------------------------------------|-----------------------|-------------------|
//   | what a launcher said over ssh or into a pod         |                       | agent             |
//   | --via mpirun, --launcher mpirun, or an MPIJob's     | hosts are named, or   | starter           |
//   |   launcher pod                                      |                       |                   |
//   |                                                     |   it is a Slurm job   |                   |
//   | --hosts or --hostfile, --in                         |                       | starter           |
//   | --standalone or --nnodes 1 on the command line      |                       | single            |
//   | mpirun's variables (Open MPI, Hydra)                | 1 process             | single            |
//   |                                                     | one on each node      | agent             |
//   |                                                     | several on a node, or | in_place          |
//   |                                                     |   --ranks-in-place    |                   |
//   | a Kubernetes pod that kubernetes/pod.h knows        | 1 pod                 | single            |
//   |                                                     | several               | agent             |
//   | nnodes > 1 and --rdzv-endpoint or --master-addr on  | step of nnodes tasks, | agent, manual     |
//   |   the command line                                  |   or no step          |                   |
//   | a Slurm step of our own                             |                       | agent             |
//   | a Slurm step                                        | 1 task                | single            |
//   |                                                     | tasks = nodes         | agent             |
//   |                                                     | tasks > nodes, or     | in_place          |
//   |                                                     |   --ranks-in-place    |                   |
//   | a Slurm batch script or allocation's shell          | on its only node      | single            |
//   |                                                     | else                  | starter           |
//   | nnodes > 1                                          |                       | agent, manual     |
//   | nothing of these                                    |                       | single, local     |
// clang-format on
//
// Several processes that would each be a world of their own are an error, unless the user asked for
// that on the command line. What contradicts itself is an error that names the variables.
Result<Allocation> detect(const Environment& environment, const Hints& hints);

Result<AgentCommand> agent_command(const Environment& environment, const Allocation& allocation,
                                   const AgentRequest& request);

// What the engines' why_stopped() and requeues() say, and what their put_back() does.
std::optional<Stop> why_stopped(const Environment& environment);
int requeues(const Environment& environment);
void put_back(const Environment& environment);

// Whether any engine owns() it, and what the engines' signals_every_process() says.
bool is_of_an_engine(pid_t process);
bool signals_every_process(const Environment& environment);

// What each engine's settle_orphaned() does.
void settle_orphaned(const Environment& environment, const Pause& pause);

// What the first engine that can tell says.
std::optional<Presence> presence(const Environment& environment);
void end_step(const Environment& environment);

// --standalone or --nnodes 1 on the command line: a world of its own is what the user wants.
bool wants_single(const Hints& hints);
bool on_command_line(std::string_view source);

}  // namespace toprun::engines
