#pragma once

#include "engines/engine.h"

namespace toprun::engines {

// Slurm 22.05 and newer (srun(1), sbatch(1)), variables of the step before those of the job. No
// program of Slurm's is needed to detect it; starting agents needs srun.
class SlurmEngine final : public Engine {
 public:
  EngineKind kind() const override { return EngineKind::slurm; }
  Result<std::optional<Allocation>> detect(const Environment& environment,
                                           const Hints& hints) const override;
  // One srun for all nodes. Its step gets every CPU and GPU that the job has on each node, whatever
  // task count the header asked for: what srun would read of that from the environment is unset.
  Result<AgentCommand> agent_command(const Environment& environment, const Allocation& allocation,
                                     const AgentRequest& request) const override;
  // By `scontrol show job`.
  std::optional<Stop> why_stopped(const Environment& environment) const override;
  int requeues(const Environment& environment) const override;
  // A job that ends by itself within the grace of its preemption counts as failed, whatever its
  // exit code (22.05 to 26.05). From the batch script's process only.
  void put_back(const Environment& environment) const override;
  // A slurmstepd.
  bool owns(pid_t process) const override;
  // In a step, unless Slurm tracks processes by cgroup: it then signals only those that it started.
  // Of a batch script only the shell gets what --signal=B: or scancel --batch sends.
  bool signals_every_process(const Environment& environment) const override;
  // With --no-kill Slurm (22.05) takes a lost node out of the job, also the one of the batch
  // script, and then keeps the job for ever. Three nodes at most ask, until SlurmdTimeout is over.
  void settle_orphaned(const Environment& environment, const Pause& pause) const override;
  // By `sstat --pidformat`, which asks the nodes themselves, with or without accounting.
  std::optional<Presence> presence(const Environment& environment) const override;
  void end_step(const Environment& environment) const override;
};

// What `scontrol show job -o` printed tells of why Slurm signalled a job: PreemptTime is set from
// the preemption to the requeue, Restarts counts a requeue before the job has ended, and Reason is
// TimeLimit from the first signal on (22.05, 26.05). `restarts` is how often the job had been
// requeued before (SLURM_RESTART_COUNT).
std::optional<Stop> stop_in(std::string_view job, int restarts);

// Whether /proc/self/cgroup shows a process in a cgroup of its step's own: proctrack/cgroup uses
// the freezer of version 1, or version 2 (22.05 to 26.05).
bool is_tracked_by_cgroup(std::string_view cgroups);

// Whether it is a job that Slurm preempted, that may run again, and that has not gone back into the
// queue yet.
bool awaits_requeue(std::string_view job, int restarts);

// The nodes in what `sstat --noheader --parsable2 --pidformat` printed: STEP|NODE|PIDS per line.
std::vector<std::string> nodes_in_sstat(std::string_view text);

// Whether tasks of a step may wait for a prolog on their node, by `scontrol show config`: with
// PrologFlags=Alloc it has run before the first step is made.
bool prolog_delays_steps(std::string_view config);

// How a batch script stands that is not heard of, by what `scontrol show job -o` printed of its
// job.
enum class BatchScript {
  alive,  // as far as Slurm knows
  lost,   // its node does not belong to the job any more
  none,   // the job does not run, or has no such script
};
BatchScript batch_script_in(std::string_view job);

// P = 61000 + (job·7 + step) mod 4536: above the ephemeral ports, different for neighbouring jobs.
int slurm_port(std::int64_t job, std::int64_t step);

}  // namespace toprun::engines
