#pragma once

#include "engines/engine.h"

namespace toprun::engines {

// A pod of a job for which Kubernetes, or an operator in it, starts one pod per node; toprun is
// this pod's agent. Of what the pod tells (pod.h) and what the user says:
//
//   | fact          | the first that is known                                    | none of them   |
//   |---------------|------------------------------------------------------------|----------------|
//   | pods          | --nnodes, PET_NNODES, the pod                              | error          |
//   | this pod      | --node-rank, PET_NODE_RANK, the pod                        | root decides   |
//   | pod 0's host  | --rdzv-endpoint, --master-addr, their PET_, the pod        | error          |
//
// A contradiction between the user and the pod is said. One pod: stance `single`. The error for a
// pod whose job may have others keeps N pods from training alone, each a world of its own; called
// torchrun, that is said only.
class KubernetesEngine final : public Engine {
 public:
  EngineKind kind() const override { return EngineKind::kubernetes; }
  Result<std::optional<Allocation>> detect(const Environment& environment,
                                           const Hints& hints) const override;
};

}  // namespace toprun::engines
