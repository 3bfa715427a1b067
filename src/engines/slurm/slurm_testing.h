#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engines/slurm/slurm.h"

// Shared parts of the tests for the Slurm engine.
namespace toprun::engines {

using Changes = std::vector<std::pair<std::string, std::string>>;

inline Environment with(Environment environment, const Changes& changes) {
  for (const auto& [name, value] : changes) {
    if (value == "-") {
      environment.unset(name);
    } else {
      environment.set(name, value);
    }
  }
  return environment;
}

// As Slurm 22.05 sets them for `sbatch -N4 --ntasks-per-node=4` (batch script on n0).
inline const Environment batch = {{"SLURM_JOB_ID", "17"},
                                  {"SLURM_JOB_NODELIST", "n[0-3]"},
                                  {"SLURM_JOB_CPUS_PER_NODE", "16(x4)"},
                                  {"SLURM_NTASKS", "16"},
                                  {"SLURM_NPROCS", "16"},
                                  {"SLURM_NTASKS_PER_NODE", "4"},
                                  {"SLURM_TASKS_PER_NODE", "4(x4)"},
                                  {"SLURMD_NODENAME", "n0"},
                                  {"SLURM_NODEID", "0"},
                                  {"SLURM_PROCID", "0"},
                                  {"SLURM_LOCALID", "0"}};

// Task 2 of `srun -N4 -n4`.
inline const Environment step_of_agents = {{"SLURM_JOB_ID", "17"},
                                           {"SLURM_JOB_NODELIST", "n[0-3]"},
                                           {"SLURM_STEP_ID", "3"},
                                           {"SLURM_STEP_NODELIST", "n[0-3]"},
                                           {"SLURM_STEP_NUM_TASKS", "4"},
                                           {"SLURM_STEP_TASKS_PER_NODE", "1(x4)"},
                                           {"SLURMD_NODENAME", "n2"},
                                           {"SLURM_NODEID", "2"},
                                           {"SLURM_PROCID", "2"},
                                           {"SLURM_LOCALID", "0"},
                                           {"SLURM_TOPOLOGY_ADDR", "core.s0.n2"},
                                           {"SLURM_TOPOLOGY_ADDR_PATTERN", "switch.switch.node"}};

// Task 9 of `srun -N4 -n16`.
inline const Environment step_of_ranks =
    with(step_of_agents, {{"SLURM_STEP_NUM_TASKS", "16"},
                          {"SLURM_STEP_TASKS_PER_NODE", "4(x4)"},
                          {"SLURM_PROCID", "9"},
                          {"SLURM_LOCALID", "1"}});

inline const Environment step_of_one = with(step_of_agents, {{"SLURM_STEP_NODELIST", "n2"},
                                                             {"SLURM_STEP_NUM_TASKS", "1"},
                                                             {"SLURM_STEP_TASKS_PER_NODE", "1"},
                                                             {"SLURM_NODEID", "0"},
                                                             {"SLURM_PROCID", "0"}});

inline const Environment salloc_shell = with(batch, {{"SLURMD_NODENAME", "-"},
                                                     {"SLURM_NODEID", "-"},
                                                     {"SLURM_PROCID", "-"},
                                                     {"SLURM_LOCALID", "-"}});

inline Hints nothing() {
  Hints hints;
  hints.host_name = "here";
  return hints;
}

inline Hints nnodes(int count, std::string source = "--nnodes") {
  Hints hints = nothing();
  hints.nnodes = count;
  hints.nnodes_source = std::move(source);
  return hints;
}

}  // namespace toprun::engines
