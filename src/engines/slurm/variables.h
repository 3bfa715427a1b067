#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::engines::slurm {

// In the environment of prologs and epilogs alone (slurm.conf(5), Prolog): "prolog_slurmd", …
inline constexpr const char* script_context_variable = "SLURM_SCRIPT_CONTEXT";
// Set by our own starter for the agents of its step, removed from what the agents start.
inline constexpr const char* own_step_variable = "TOPRUN_STEP";
// Processes per node that the job's header asked for, in the order of SLURM_JOB_NODELIST, as Slurm
// writes counts: srun overwrites the header's own variables with the step's.
inline constexpr const char* slots_variable = "TOPRUN_SLOTS";

// The step of tasks that this process belongs to (srun(1), OUTPUT ENVIRONMENT VARIABLES).
struct Step {
  std::int64_t id = 0;
  std::vector<std::string> nodes;
  std::vector<int> tasks_per_node;  // as long as nodes, each at least 1
  int tasks = 0;
};

// Readers of one variable each; every error names it. An unset or empty one is nothing.
Result<std::optional<std::int64_t>> number(const Environment& environment, const std::string& name,
                                           std::int64_t least, std::int64_t most);
Result<std::int64_t> required_number(const Environment& environment, const std::string& name,
                                     std::int64_t least, std::int64_t most);
Result<std::vector<std::string>> hostlist(const Environment& environment, const std::string& name);
Result<std::vector<int>> counts(const Environment& environment, const std::string& name);
// A request for GPUs, types and sockets left out: "8", "h100:8", "h100:4,a100:2", "a100:2(S:0-1)".
Result<std::optional<int>> gpus(const Environment& environment, const std::string& name);

Result<std::int64_t> job_id(const Environment& environment);
// SLURM_PROCID.
Result<std::optional<int>> task_number(const Environment& environment);
Result<std::vector<std::string>> job_nodes(const Environment& environment);
// Whether the step is one that Slurm makes for a shell: the batch script's or salloc's interactive
// one. It is not a step of tasks, and its node list is the one node on which the shell runs.
bool in_shell_step(const Environment& environment);
bool in_task_step(const Environment& environment);
// Nothing in a batch script or in an allocation's shell.
Result<std::optional<Step>> step(const Environment& environment);

// Processes that the job's header asked for on each node of the job, and only if the user did ask:
// --ntasks-per-node or --ntasks. One everywhere counts as not asked: it is how one agent per node
// is asked for, and says nothing about ranks.
Result<std::optional<std::vector<int>>> requested_tasks(const Environment& environment,
                                                        std::size_t nodes);

// Whether the step is a shell of several tasks where only the first task has a terminal (srun
// --pty).
bool shares_terminal(const Environment& environment, const Step& step, bool terminal);
std::unexpected<Error> refuse_shared_terminal(const Step& step);

}  // namespace toprun::engines::slurm
