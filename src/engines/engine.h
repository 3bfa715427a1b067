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

// What the command line (or a PET_ variable) specifies about nodes. A field named `…_source`
// contains the option or variable: "--nnodes", "PET_NNODES". If such a text starts with a dash, the
// value comes from the command line.
struct Hints {
  std::optional<int> nnodes;  // at least 1
  // If set, every number from min_nodes to nnodes is acceptable, and the largest is preferred.
  std::optional<int> min_nodes;
  bool replaces_nodes = false;  // a job continues after it has lost a node; nodes beyond nnodes are
                                // spares
  std::string nnodes_source;
  std::optional<int> node_rank;   // --node-rank, on the command line only
  std::optional<int> node_index;  // PET_NODE_RANK
  std::string endpoint_source;  // "--rdzv-endpoint", "--master-addr", "PET_…"; empty: no endpoint
                                // given
  std::string endpoint_host;    // the host in the endpoint
  bool standalone = false;
  bool ranks_in_place = false;
  bool called_torchrun = false;
  bool counts_processes = false;      // the command line has --nproc-per-node
  bool terminal = false;              // standard input is a terminal
  std::string host_name;              // this host's name, used if no engine gives the node a name
  std::string host_domain;            // in a pod: the domain after the host's name in /etc/hosts
  std::vector<Node> hosts;            // --hosts or --hostfile; the pods of --in
  std::string hosts_source;           // the option or variable that listed the hosts
  std::optional<PmiMeeting> meeting;  // what mpiexec's (Hydra's) processes have sent each other
  int pbs_nodes = 0;                  // number of hosts in the file that PBS_NODEFILE names
  std::string via;  // the option that makes mpirun start the processes on the nodes

  // Returns how many of the engine's `available` nodes the run uses. Unset: they are too few.
  std::optional<int> use_of(int available) const {
    const int most = nnodes.value_or(available);
    if (available >= most) return most;
    return min_nodes && *min_nodes <= available ? std::optional(available) : std::nullopt;
  }
};

// The command, with its environment, that starts one agent per node. A process with the stance
// `starter` runs it, and writes the job's secret to its standard input.
struct AgentCommand {
  std::vector<std::string> argv;
  Environment environment;
  // True: the command passes its standard input only to the root's agent. So the secret has to be
  // in TOPRUN_SECRET, too.
  bool secret_by_variable = false;
};

struct AgentRequest {
  // The path of toprun on every node. If the user called a link named torchrun, this is the link's
  // path.
  std::string program;
  std::vector<std::string> arguments = {};  // the user's arguments, without argv[0]
  bool elastic = false;                     // the agents continue without a node that fails
  bool on_terminal = false;                 // a user watches their output
  std::vector<std::string> variables = {};  // variables that the agents need, if the engine does
                                            // not pass on all variables
  bool as_root = false;
  std::vector<std::string> options = {};  // additional options for the engine's command
};

// The reason why an engine ended a run.
struct Stop {
  enum class Reason {
    preemption,  // the engine needs the nodes for another job
    requeue,     // the job will start again later: scontrol requeue
    time_limit,
  };
  Reason reason;
  std::string words;
};

struct Presence {
  std::vector<std::string> nodes;  // nodes that run processes of the launch
  bool may_be_late = false;        // perhaps the process on an unlisted node has not started yet
};

// Waits for the given time. Returns false if the caller has to stop waiting, because its time is
// over.
using Pause = std::function<bool(std::chrono::milliseconds)>;

// An engine that may have started this process. detect() is pure, and returns nullopt if another
// engine started the process. To add an engine: write its file and its test, and add a line to
// engines.cc.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual EngineKind kind() const = 0;
  virtual Result<std::optional<Allocation>> detect(const Environment& environment,
                                                   const Hints& hints) const = 0;
  // Returns how to start the agents. Only for an allocation whose stance is `starter`.
  virtual Result<AgentCommand> agent_command(const Environment& environment,
                                             const Allocation& allocation,
                                             const AgentRequest& request) const;
  // Returns why the engine ended a run with a signal. nullopt: the engine did not end it, or gives
  // no reason. May run a command, for engine_answer_limit at most.
  virtual std::optional<Stop> why_stopped(const Environment&) const { return std::nullopt; }
  // Returns how often the engine has requeued this job so far.
  virtual int requeues(const Environment&) const { return 0; }
  // Requeues the job after a preempted run, if the user asked the engine for a requeue. Does
  // nothing if the engine itself will requeue the job after its processes have ended.
  virtual void put_back(const Environment&) const {}
  // Whether this process is the engine's, and forwards signals to the job on this node.
  virtual bool owns(pid_t) const { return false; }
  // Whether the engine's signals reach every process on this node, including ranks, not only
  // processes that the engine started itself.
  virtual bool signals_every_process(const Environment&) const { return false; }
  // Requeues or ends the job if the engine reports the root's node as lost, because nothing else
  // would end the job. An agent calls this function after it has lost contact with the root's node
  // of an elastic run. Blocks until the job is requeued or ended, or until it is clear that neither
  // is necessary.
  virtual void requeue_orphaned(const Environment&, const Pause&) const {}
  // Returns which nodes run processes that the engine started together with this process. nullopt:
  // unknown. Runs commands.
  virtual std::optional<Presence> presence(const Environment&) const { return std::nullopt; }
  // Ends all processes that the engine started together with this process. Runs a command.
  virtual void end_step(const Environment&) const {}
};

inline constexpr std::chrono::seconds engine_answer_limit{2};

// Returns all engines in the order of detection; the last engine always returns a result.
std::span<const Engine* const> engines();

// clang-format off
// Returns where this process runs, according to the first engine that detects itself.
//
//   | condition                                           | and                   | stance            |
//   |-----------------------------------------------------|-----------------------|-------------------|
//   | a launcher's variables, over ssh or into a pod      |                       | agent             |
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
//   | none of these                                       |                       | single, local     |
// clang-format on
//
// If several processes would each train alone, this is an error, unless the user requested it on
// the command line. If variables contradict each other, the error names them.
Result<Allocation> detect(const Environment& environment, const Hints& hints);

Result<AgentCommand> agent_command(const Environment& environment, const Allocation& allocation,
                                   const AgentRequest& request);

// These functions call why_stopped(), requeues() and put_back() of each engine.
std::optional<Stop> why_stopped(const Environment& environment);
int requeues(const Environment& environment);
void put_back(const Environment& environment);

// These functions call owns() and signals_every_process() of each engine.
bool is_of_an_engine(pid_t process);
bool signals_every_process(const Environment& environment);

// Calls requeue_orphaned() of each engine.
void requeue_orphaned(const Environment& environment, const Pause& pause);

// Returns the result of the first engine whose presence() knows which nodes run processes.
std::optional<Presence> presence(const Environment& environment);
void end_step(const Environment& environment);

// Whether the user wants this process to train alone: by --standalone, or --nnodes 1 as an option.
bool wants_single(const Hints& hints);
bool on_command_line(std::string_view source);

}  // namespace toprun::engines
