#include <algorithm>

#include "base/net/hostlist.h"
#include "engines/allocation.h"
#include "engines/slurm/slurm.h"
#include "engines/slurm/variables.h"

namespace toprun::engines {
namespace {

// The variables that srun reads like options (srun(1), INPUT ENVIRONMENT VARIABLES), and those that
// describe other tasks. Requests of the whole job (SLURM_GRES, SLURM_GPUS_PER_NODE,
// SLURM_MEM_PER_NODE …) stay.
constexpr const char* stale_variables[] = {
    // how many tasks, where
    "SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NTASKS_PER_NODE", "SLURM_NTASKS_PER_CORE",
    "SLURM_NTASKS_PER_SOCKET", "SLURM_NTASKS_PER_GPU", "SLURM_NTASKS_PER_TRES",
    "SLURM_DISTRIBUTION", "SLURM_DIST_PLANESIZE", "SLURM_HOSTFILE", "SLURM_ARBITRARY_NODELIST",
    "SLURM_SPREAD_JOB", "SLURM_USE_MIN_NODES",
    // a task's share of a node
    "SLURM_CPUS_PER_TASK", "SRUN_CPUS_PER_TASK", "SLURM_CPUS_PER_GPU", "SLURM_TRES_PER_TASK",
    "SLURM_GPUS", "SLURM_GPUS_PER_TASK", "SLURM_GPUS_PER_SOCKET", "SLURM_STEP_GRES", "SLURM_EXACT",
    "SLURM_EXCLUSIVE", "SLURM_HINT", "SLURM_THREADS_PER_CORE", "SLURM_OVERCOMMIT",
    // binding
    "SLURM_CPU_BIND", "SLURM_CPU_BIND_LIST", "SLURM_CPU_BIND_TYPE", "SLURM_CPU_BIND_VERBOSE",
    "SLURM_MEM_BIND", "SLURM_MEM_BIND_LIST", "SLURM_MEM_BIND_PREFER", "SLURM_MEM_BIND_SORT",
    "SLURM_MEM_BIND_TYPE", "SLURM_MEM_BIND_VERBOSE", "SLURM_GPU_BIND",
    // the secret comes on standard input, and the shell's terminal is not the agents'
    "SLURM_STDINMODE", "SLURM_PTY_PORT", "SLURM_PTY_WIN_COL", "SLURM_PTY_WIN_ROW"};

// The CPUs for -c: as many as the job has on each of its nodes. None if -c would reduce them: on
// nodes that differ, or if the job counts only one thread per core. Without -c the step gets all
// CPUs of the job.
Result<std::optional<int>> cpus_per_node(const Environment& environment) {
  if (!environment.non_empty("SLURM_JOB_CPUS_PER_NODE")) return std::nullopt;
  const auto cpus = TRY(slurm::counts(environment, "SLURM_JOB_CPUS_PER_NODE"));
  const auto [least, most] = std::ranges::minmax(cpus);
  const bool one_thread =
      environment.get("SLURM_THREADS_PER_CORE") == "1" ||
      environment.get("SLURM_HINT").value_or("").find("nomultithread") != std::string::npos;
  if (least != most || one_thread) return std::nullopt;
  return least;
}

int least_tasks(const Allocation& allocation) {
  int least = INT32_MAX;
  for (const Node& node : allocation.nodes) least = std::min(least, node.slots.value_or(1));
  return least;
}

// GPUs for --gpus-per-node: as many as the job has on each of its nodes. A step inherits only what
// the job asked for per node (nothing is needed then). What it asked for per task would shrink to
// one task's share, what it asked for in all does not make a step of several nodes (22.05:
// "Insufficient GRES"), and what came by --exclusive is not inherited at all.
Result<std::optional<int>> gpus_per_node(const Environment& environment,
                                         const Allocation& allocation) {
  if (environment.non_empty("SLURM_GPUS_PER_NODE") ||
      environment.non_empty("SLURM_SHARDS_ON_NODE")) {
    return std::nullopt;
  }
  const auto here = slurm::gpus(environment, "SLURM_GPUS_ON_NODE");  // batch scripts only
  const auto total = slurm::gpus(environment, "SLURM_GPUS");
  const auto per_task = slurm::gpus(environment, "SLURM_GPUS_PER_TASK");
  for (const auto* count : {&here, &total, &per_task}) {
    if (!*count) return std::unexpected(count->error());
  }
  const auto nodes = static_cast<int>(allocation.nodes.size());
  std::optional<int> gpus;
  if (*here) {
    gpus = **here;
    // The GPUs are spread unevenly: the least number on one of the other nodes.
    if (*total && nodes > 1) gpus = std::min(*gpus, (**total - **here) / (nodes - 1));
  } else if (*per_task) {
    gpus = **per_task * least_tasks(allocation);
  } else if (*total) {
    gpus = **total / nodes;
  }
  if (gpus && *gpus < 1) gpus.reset();
  return gpus;
}

Environment step_environment(const Environment& environment, const Allocation& allocation) {
  Environment ours = environment;
  for (const char* variable : stale_variables) ours.unset(variable);
  ours.set(slurm::own_step_variable, "1");
  std::vector<int> slots;
  for (const Node& node : allocation.nodes) {
    if (node.slots) slots.push_back(*node.slots);
  }
  if (!slots.empty() && slots.size() == allocation.nodes.size()) {
    ours.set(slurm::slots_variable, count_list_text(slots));
  } else {
    ours.unset(slurm::slots_variable);
  }
  return ours;
}

void add_common_options(std::vector<std::string>& argv, const Environment& environment,
                        const AgentRequest& request) {
  for (const char* option : {"--kill-on-bad-exit=0", "--wait=0", "--mpi=none"}) {
    argv.push_back(option);
  }
  if (request.elastic) argv.push_back("--no-kill");
  // With --unbuffered a prompt appears at once, but the nodes' output is mixed within lines.
  if (request.on_terminal) argv.push_back("--unbuffered");
  // Without an inherited binding the option is not needed, and task/none would warn about it.
  if (environment.has("SLURM_CPU_BIND") || environment.has("SLURM_CPU_BIND_TYPE")) {
    argv.push_back("--cpu-bind=none");
  }
  argv.push_back("--export=ALL");
  argv.insert(argv.end(), request.options.begin(), request.options.end());
}

void add_program(std::vector<std::string>& argv, const AgentRequest& request) {
  argv.push_back(request.program);
  argv.insert(argv.end(), request.arguments.begin(), request.arguments.end());
}

// One step over all components: srun takes the counts of each between colons.
std::vector<std::string> het_step(const std::vector<slurm::HetComponent>& components,
                                  const Environment& environment, const AgentRequest& request) {
  std::vector<std::string> argv = {"srun"};
  for (std::size_t i = 0; i < components.size(); ++i) {
    const std::string nodes = fmt::format("{}", components[i].nodes.size());
    if (i > 0) argv.push_back(":");
    argv.insert(argv.end(), {fmt::format("--het-group={}", i), "--overlap", "-N", nodes, "-n",
                             nodes, "--ntasks-per-node=1"});
    // Each component has a separate srun, and all of them would read the same standard input
    // (22.05).
    if (i > 0) argv.push_back("--input=none");
    add_common_options(argv, environment, request);
  }
  add_program(argv, request);
  return argv;
}

}  // namespace

Result<AgentCommand> SlurmEngine::agent_command(const Environment& environment,
                                                const Allocation& allocation,
                                                const AgentRequest& request) const {
  const auto cpus = TRY(cpus_per_node(environment));
  const auto gpus = TRY(gpus_per_node(environment, allocation));
  const std::string nodes = fmt::format("{}", allocation.node_count);
  const auto components = TRY(slurm::het_components(environment));
  AgentCommand command;
  command.environment = step_environment(environment, allocation);
  if (!components.empty()) {
    command.argv = het_step(components, environment, request);
    command.secret_by_variable = true;  // the others hear nothing
    return command;
  }
  command.argv = {"srun", "--overlap", "-N", nodes, "-n", nodes, "--ntasks-per-node=1"};
  if (allocation.chosen) {
    std::vector<std::string> names;
    for (const Node& node : allocation.nodes) names.push_back(node.name);
    command.argv.push_back("--nodelist=" + hosts::compress_hostlist(names));
  }
  if (cpus) command.argv.insert(command.argv.end(), {"-c", fmt::format("{}", *cpus)});
  if (gpus) command.argv.push_back(fmt::format("--gpus-per-node={}", *gpus));
  add_common_options(command.argv, environment, request);
  add_program(command.argv, request);
  return command;
}

}  // namespace toprun::engines
