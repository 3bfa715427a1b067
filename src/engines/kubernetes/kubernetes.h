#pragma once

#include "engines/engine.h"

namespace toprun::engines {

// For pods of a job with one pod per node, started by Kubernetes or by an operator in it. toprun is
// this pod's agent. It combines facts from the pod (pod.h) and from the user:
//
//   | fact          | the first that is known                                    | none of them   |
//   |---------------|------------------------------------------------------------|----------------|
//   | pods          | --nnodes, PET_NNODES, the pod                              | error          |
//   | this pod      | --node-rank, PET_NODE_RANK, the pod                        | root decides   |
//   | pod 0's host  | --rdzv-endpoint, --master-addr, their PET_, the pod        | error          |
//
// toprun reports a contradiction between the user's options and the pod. One pod: stance `single`.
// If the job may have other pods and their number is unknown, toprun stops with an error. Otherwise
// N pods would each train alone. Called as torchrun, it only warns.
class KubernetesEngine final : public Engine {
 public:
  EngineKind kind() const override { return EngineKind::kubernetes; }
  Result<std::optional<Allocation>> detect(const Environment& environment,
                                           const Hints& hints) const override;
};

}  // namespace toprun::engines
