#pragma once

#include "engines/engine.h"

namespace toprun::engines {

// One process among those that an mpirun started (mpi_world.h). The root is rank 0's: the others
// look for it on each host that may have it.
//
//   | given                                   | stance   |
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
  // One mpirun for all nodes; it runs `mpirun --version` to know how to speak to it.
  Result<AgentCommand> agent_command(const Environment& environment, const Allocation& allocation,
                                     const AgentRequest& request) const override;
};

// Whether our own mpirun started this agent.
bool is_mpi_agent(const Environment& environment);

// The value of TOPRUN_STEP for the agents that our own mpirun starts.
inline constexpr const char* mpi_step = "mpi";
// The nodes that it was given, with their processes: node_list.h.
inline constexpr const char* mpi_nodes_variable = "TOPRUN_MPI_NODES";

}  // namespace toprun::engines
