#pragma once

#include "engines/engine.h"

namespace toprun::engines {

// The user started toprun without an engine: one node, this one. Always returns a result.
class LocalEngine final : public Engine {
 public:
  EngineKind kind() const override { return EngineKind::local; }
  Result<std::optional<Allocation>> detect(const Environment& environment,
                                           const Hints& hints) const override;
};

// The user starts one toprun per node: by hand, by ssh, or in a pod per node. As for torchrun, the
// user specifies the number of nodes and the rendezvous endpoint on every node. Outside an engine,
// every launch with more than one node is manual. Inside Slurm a manual launch needs --nnodes above
// 1 and --rdzv-endpoint or --master-addr on the command line. The endpoint then comes from the
// user. The node's location, name and index come from Slurm:
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
