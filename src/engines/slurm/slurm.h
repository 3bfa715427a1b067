#pragma once

#include "engines/engine.h"

namespace toprun::engines {

// The engine for Slurm 22.05 and newer (srun(1), sbatch(1)). If a step and its job set the same
// variable, the step's value takes precedence. toprun needs no Slurm program to detect Slurm, but
// needs srun to start agents.
class SlurmEngine final : public Engine {
 public:
  EngineKind kind() const override { return EngineKind::slurm; }
  Result<std::optional<Allocation>> detect(const Environment& environment,
                                           const Hints& hints) const override;
  // The command is one srun for all nodes. The step of this srun gets every CPU and GPU of the job
  // on each node. The number of tasks in the batch script's #SBATCH lines does not matter, because
  // the variables that would pass this number to srun are unset.
  Result<AgentCommand> agent_command(const Environment& environment, const Allocation& allocation,
                                     const AgentRequest& request) const override;
  // Uses `scontrol show job`.
  std::optional<Stop> why_stopped(const Environment& environment) const override;
  int requeues(const Environment& environment) const override;
  // Slurm counts a preempted job as failed if it ends by itself within the grace period, regardless
  // of its exit code (22.05 to 26.05). So toprun in the batch script requeues a preempted job; in a
  // step, put_back() does nothing.
  void put_back(const Environment& environment) const override;
  // True for a slurmstepd.
  bool owns(pid_t process) const override;
  // True in a step. Exception: if Slurm tracks processes by cgroup, Slurm's signals reach only the
  // processes that Slurm itself started. In a batch script, --signal=B: and scancel --batch signal
  // only the shell.
  bool signals_every_process(const Environment& environment) const override;
  // With --no-kill, Slurm (22.05) removes a lost node from the job. If the lost node ran the batch
  // script, Slurm never ends the job. So at most three other nodes of the job query Slurm, until
  // SlurmdTimeout has passed. If the batch script's node is lost, they requeue the job, or end it
  // if it must not run again.
  void requeue_orphaned(const Environment& environment, const Pause& pause) const override;
  // Uses `sstat --pidformat`, which queries the nodes themselves and needs no accounting.
  std::optional<Presence> presence(const Environment& environment) const override;
  void end_step(const Environment& environment) const override;
};

// Returns why Slurm signalled a job, from the output of `scontrol show job -o`. In this output, the
// field PreemptTime is set from the preemption to the requeue. The field Restarts counts a requeue
// even before the job has ended. The field Reason is TimeLimit from the first signal on (22.05,
// 26.05). `restarts` is the number of earlier requeues (SLURM_RESTART_COUNT).
std::optional<Stop> stop_in(std::string_view job, int restarts);

// Whether /proc/self/cgroup shows that a process is in its step's own cgroup. The plugin
// proctrack/cgroup uses the freezer of cgroup v1, or cgroup v2 (22.05 to 26.05).
bool is_tracked_by_cgroup(std::string_view cgroups);

// Whether Slurm preempted the job, may run it again, and has not put it back into the queue yet.
bool awaits_requeue(std::string_view job, int restarts);

// Reads the nodes from `sstat --noheader --parsable2 --pidformat`: STEP|NODE|PIDS per line.
std::vector<std::string> nodes_in_sstat(std::string_view text);

// Whether tasks of a step may wait for a prolog on their node, from `scontrol show config`. With
// PrologFlags=Alloc, tasks do not wait, because the prolog runs before the first step.
bool prolog_delays_steps(std::string_view config);

// The state of a batch script whose agent no longer sends messages. It is read from the output of
// `scontrol show job -o`.
enum class BatchScript {
  alive,  // Slurm does not know of a problem
  lost,   // its node no longer belongs to the job
  none,   // the job does not run, or has no batch script
};
BatchScript batch_script_in(std::string_view job);

// Returns 61000 + (job·7 + step) mod 4536: above the ephemeral ports; neighbouring jobs get
// different ports.
int slurm_port(std::int64_t job, std::int64_t step);

}  // namespace toprun::engines
