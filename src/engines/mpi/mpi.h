#pragma once

#include "engines/engine.h"

namespace toprun::engines {

// The engine for a process that mpirun started (world.h). The root is rank 0's process. The other
// processes query each host on which the root may run, until they find it.
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
// This variable has the nodes on which toprun's own mpirun starts agents. It also has each node's
// number of processes (node_list_text()).
inline constexpr const char* mpi_nodes_variable = "TOPRUN_MPI_NODES";

}  // namespace toprun::engines
