#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::engines::slurm {

// Set only for prologs and epilogs (slurm.conf(5), Prolog): "prolog_slurmd", …
inline constexpr const char* script_context_variable = "SLURM_SCRIPT_CONTEXT";
// toprun's starter sets this variable for the agents that it starts. The agents do not pass the
// variable on.
inline constexpr const char* own_step_variable = "TOPRUN_STEP";
// How many processes per node the script's header requested, in the order of SLURM_JOB_NODELIST and
// in Slurm's form for counts. toprun needs its own variable, because srun replaces the header's
// variables by the step's.
inline constexpr const char* slots_variable = "TOPRUN_SLOTS";

// The step of tasks that this process belongs to (srun(1), OUTPUT ENVIRONMENT VARIABLES).
struct Step {
  std::int64_t id = 0;
  std::vector<std::string> nodes;
  std::vector<int> tasks_per_node;  // one entry per node, each at least 1
  int tasks = 0;
};

// Each function reads one variable; every error names this variable. An unset or empty variable
// gives nullopt.
Result<std::optional<std::int64_t>> number(const Environment& environment, const std::string& name,
                                           std::int64_t least, std::int64_t most);
Result<std::int64_t> required_number(const Environment& environment, const std::string& name,
                                     std::int64_t least, std::int64_t most);
Result<std::vector<std::string>> hostlist(const Environment& environment, const std::string& name);
Result<std::vector<int>> counts(const Environment& environment, const std::string& name);
// The number in a GPU request, ignoring types and sockets: "8", "h100:8", "h100:4,a100:2",
// "a100:2(S:0-1)".
Result<std::optional<int>> gpus(const Environment& environment, const std::string& name);

Result<std::int64_t> job_id(const Environment& environment);
// SLURM_PROCID.
Result<std::optional<int>> task_number(const Environment& environment);
Result<std::vector<std::string>> job_nodes(const Environment& environment);
// Whether Slurm made the step for a shell: the batch step, or salloc's interactive step. Such a
// step has no tasks. The step's node list contains only the node on which the shell runs.
bool in_shell_step(const Environment& environment);
bool in_task_step(const Environment& environment);
// nullopt in a batch script or in an allocation's shell.
Result<std::optional<Step>> step(const Environment& environment);

// How many processes on each node the script's header requested, by --ntasks-per-node or --ntasks.
// nullopt: there is no such request. One process on every node does not count as a request for
// ranks, because users request one agent per node in this way.
Result<std::optional<std::vector<int>>> requested_tasks(const Environment& environment,
                                                        std::size_t nodes);

// Whether the step was started by srun --pty with several tasks, so that only the first task has a
// terminal.
bool shares_terminal(const Environment& environment, const Step& step, bool terminal);
std::unexpected<Error> refuse_shared_terminal(const Step& step);

}  // namespace toprun::engines::slurm
