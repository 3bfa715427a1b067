#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/clock.h"
#include "base/text/error.h"

namespace toprun::engines::slurm {

// Slurm sets this variable only for prologs and epilogs (slurm.conf(5), Prolog): "prolog_slurmd", …
inline constexpr const char* script_context_variable = "SLURM_SCRIPT_CONTEXT";
// A toprun that starts agents with srun sets this variable for the agents. The agents do not pass
// this variable on to their ranks.
inline constexpr const char* own_step_variable = "TOPRUN_STEP";
// This variable contains the number of processes that sbatch's options request on each node. It has
// Slurm's form for counts, in the order of SLURM_JOB_NODELIST. toprun needs a variable of its own,
// because srun replaces Slurm's variables for the job by those for the step.
inline constexpr const char* slots_variable = "TOPRUN_SLOTS";

// The step of tasks that this process belongs to (srun(1), OUTPUT ENVIRONMENT VARIABLES).
struct Step {
  std::int64_t id = 0;
  std::vector<std::string> nodes;
  std::vector<int> tasks_per_node;  // one entry per node, each at least 1
  int tasks = 0;
};

// Each of these functions reads the variable `name`. Every error contains this name. An unset or
// empty variable gives nullopt, or an error if the result is not optional.
Result<std::optional<std::int64_t>> number(const Environment& environment, const std::string& name,
                                           std::int64_t least, std::int64_t most);
Result<std::int64_t> required_number(const Environment& environment, const std::string& name,
                                     std::int64_t least, std::int64_t most);
Result<std::vector<std::string>> hostlist(const Environment& environment, const std::string& name);
Result<std::vector<int>> counts(const Environment& environment, const std::string& name);
// Reads the number of GPUs in a GPU request, ignoring types and sockets: "8", "h100:8",
// "h100:4,a100:2", "a100:2(S:0-1)".
Result<std::optional<int>> gpus(const Environment& environment, const std::string& name);

Result<std::int64_t> job_id(const Environment& environment);
// Reads SLURM_PROCID.
Result<std::optional<int>> task_number(const Environment& environment);
Result<std::vector<std::string>> job_nodes(const Environment& environment);
// Whether Slurm made the step for a shell: the batch step, or salloc's interactive step. Such a
// step has no tasks. The step's node list contains only the node on which the shell runs.
bool in_shell_step(const Environment& environment);
bool in_task_step(const Environment& environment);
// Returns this process's step of tasks. nullopt in a batch script or in an allocation's shell.
Result<std::optional<Step>> step(const Environment& environment);

// Returns how many processes per node sbatch's --ntasks-per-node or --ntasks requests. nullopt:
// neither option was used. A request for one process on every node gives nullopt too, because with
// it, users request one agent per node, not one rank.
Result<std::optional<std::vector<int>>> requested_tasks(const Environment& environment,
                                                        std::size_t nodes);

// Whether the step was started by srun --pty with several tasks, so that only the first task has a
// terminal.
bool shares_terminal(const Environment& environment, const Step& step, bool terminal);
std::unexpected<Error> refuse_shared_terminal(const Step& step);

// Returns the job's id as users know it: "30"; for an array's task "29_0". nullopt: no job.
std::optional<std::string> own_job_id(const Environment& environment);

// Returns the job name that the user chose. nullopt: none, or the default name of srun and salloc.
std::optional<std::string> own_job_name(const Environment& environment);

// Returns the nodes of this process's job that are not in `nodes`, because a step may use only some
// nodes of its job. Empty: no job.
std::vector<std::string> other_nodes_of_own_job(const Environment& environment,
                                                const std::vector<std::string>& nodes);

// Returns when the job reaches its time limit, from the output of `scontrol show job -o`. If that
// output is empty, reads a variable that Slurm set at the job's start (23.02 and newer).
std::optional<WallTime> job_end_in(std::string_view job, const Environment& environment);
// Like job_end_in(), but runs scontrol itself and waits for it at most engine_answer_limit.
std::optional<WallTime> own_job_end(const Environment& environment);

// One component of a heterogeneous job (sbatch's ":", heterogeneous_jobs(5)). Slurm's variables
// without a component number describe the first component if they are read in the batch script. In
// a step on all components, these variables describe all components (22.05).
struct HetComponent {
  std::vector<std::string> nodes;
  std::optional<std::vector<int>> tasks;  // tasks on each node, if the script's header specified a
                                          // number
};

// Returns the components of this job; empty for an ordinary job.
Result<std::vector<HetComponent>> het_components(const Environment& environment);

}  // namespace toprun::engines::slurm
