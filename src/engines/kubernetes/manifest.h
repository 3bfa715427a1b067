#pragma once

#include <nlohmann/json.hpp>

#include "engines/kubernetes/operators.h"
#include "engines/kubernetes/workload.h"

namespace toprun::engines::kubernetes {

// By which field of its spec a TrainJob changes the pods of its runtime, as the trainer's releases
// have had it. The older ones have fewer fields, which schema.h finds out.
enum class PodChanges {
  runtime_patches,     // runtimePatches, since 2.2
  template_overrides,  // podTemplateOverrides, 2.1
  spec_overrides,      // podSpecOverrides, 2.0
};

// The job as one object for `kubectl create -f -`. Pure. One failure is counted once: toprun in the
// pods restarts ranks by itself, and with restarts a pod that was lost is made again. The pods of a
// TrainJob restart as its runtime has it, which it cannot change.
//   PyTorchJob  kubeflow.org/v1, training-operator 1.9: pytorch_types.go, common_types.go
//   TrainJob    trainer.kubeflow.org/v1alpha1, trainer 2.0, 2.1 and 2.2: its CRDs
//   JobSet      jobset.x-k8s.io/v1alpha2, v0.8: jobset_types.go
nlohmann::ordered_json manifest(Operator which, const Workload& job,
                                PodChanges changes = PodChanges::runtime_patches);
nlohmann::ordered_json pytorchjob(const Workload& job);
nlohmann::ordered_json trainjob(const Workload& job,
                                PodChanges changes = PodChanges::runtime_patches);
nlohmann::ordered_json jobset(const Workload& job);

// The text as kubelet gives it to a pod unchanged: each $ is doubled, because kubelet replaces
// $(NAME) and takes $$ for $ in commands, arguments and variables
// (k8s.io/kubernetes/third_party/forked/golang/expansion).
std::string unexpanded(std::string_view text);

}  // namespace toprun::engines::kubernetes
