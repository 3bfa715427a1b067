#pragma once

#include "engines/engine.h"

namespace toprun::engines {

// The user starts one toprun per node by hand, by ssh or by a pod each, and tells every one of them
// how many nodes there are and where they meet, as torchrun wants it. Outside an engine that is any
// launch of more than one node. Inside Slurm it needs --nnodes above 1 and --rdzv-endpoint or
// --master-addr on the command line; Slurm then still supplies evidence (location, node name,
// index) while the endpoint is the user's:
//
//   | tasks of our step          | index of this node: --node-rank, PET_NODE_RANK, else       |
//   |----------------------------|------------------------------------------------------------|
//   | nnodes, one on each node   | SLURM_NODEID                                               |
//   | nnodes, several on a node  | SLURM_PROCID: each task counts as a node                   |
//   | 1, or no step              | place in SLURM_JOB_NODELIST if that lists nnodes nodes     |
//   | several on each of nnodes  | not manual: ranks in place                                 |
//   | any other number           | error                                                      |
class ManualEngine final : public Engine {
 public:
  EngineKind kind() const override { return EngineKind::manual; }
  Result<std::optional<Allocation>> detect(const Environment& environment,
                                           const Hints& hints) const override;
};

}  // namespace toprun::engines
