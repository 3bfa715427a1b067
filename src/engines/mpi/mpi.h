#pragma once

#include "engines/engine.h"

namespace toprun::engines {

// The engine for a process that mpirun started (world.h). The root is rank 0's process. The other
// processes search for the root on each host on which it may run.
//
//   | condition                               | stance   |
//   |-----------------------------------------|----------|
//   | an mpirun that toprun itself started    | agent    |
//   | --via mpirun or --launcher mpirun       | starter  |
//   | one process                             | single   |
//   | one process on each node                | agent    |
//   | several on a node, or --ranks-in-place  | in_place |
class MpiEngine final : public Engine {
 public:
  EngineKind kind() const override { return EngineKind::mpi; }
  Result<std::optional<Allocation>> detect(const Environment& environment,
                                           const Hints& hints) const override;
  // The command is one mpirun for all nodes. Runs `mpirun --version` first, because the options
  // depend on the version.
  Result<AgentCommand> agent_command(const Environment& environment, const Allocation& allocation,
                                     const AgentRequest& request) const override;
};

// Whether toprun's own mpirun started this agent.
bool is_mpi_agent(const Environment& environment);

// The value of TOPRUN_STEP for agents that toprun's own mpirun starts.
inline constexpr const char* mpi_step = "mpi";
// Contains the nodes for toprun's own mpirun, and the processes on each (node_list_text()).
inline constexpr const char* mpi_nodes_variable = "TOPRUN_MPI_NODES";

}  // namespace toprun::engines
