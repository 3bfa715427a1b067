#pragma once

#include "engines/engine.h"

namespace toprun::engines {

// The engine for pods of a job with one pod per node. Kubernetes or an operator has started the
// pods. In each pod, toprun is the agent. The engine combines facts from the pod (pod.h) and from
// the user:
//
//   | fact          | source: the first that is known                            | none is known  |
//   |---------------|------------------------------------------------------------|----------------|
//   | pods          | --nnodes, PET_NNODES, the pod                              | error          |
//   | this pod      | --node-rank, PET_NODE_RANK, the pod                        | root decides   |
//   | pod 0's host  | --rdzv-endpoint, --master-addr, their PET_, the pod        | error          |
//
// toprun reports a contradiction between the user's options and the pod. If the job has only one
// pod, the stance is `single`. If the job perhaps has other pods and their number is unknown,
// toprun stops with an error, because N pods could each train alone. If toprun is called under the
// name torchrun, it only warns in this case.
class KubernetesEngine final : public Engine {
 public:
  EngineKind kind() const override { return EngineKind::kubernetes; }
  Result<std::optional<Allocation>> detect(const Environment& environment,
                                           const Hints& hints) const override;
};

}  // namespace toprun::engines
