#pragma once

#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/text/error.h"
#include "engines/kubernetes/operators.h"
#include "engines/kubernetes/workload.h"

namespace toprun::engines::kubernetes {

// The field of a TrainJob's spec that changes the runtime's pods. Each release of the trainer has a
// different field, and older releases allow fewer changes (operators.h).
enum class PodChanges {
  runtime_patches,     // runtimePatches, since 2.2
  template_overrides,  // podTemplateOverrides, 2.1
  spec_overrides,      // podSpecOverrides, 2.0
};

// Returns the job as one object for `kubectl create -f -`. Pure function. The agents (toprun in the
// pods) restart failed ranks, so the operator must not count these failures, too. If restarts are
// allowed, the cluster creates a lost pod again. In a TrainJob the runtime decides whether pods
// restart, and the TrainJob cannot change that.
//   PyTorchJob  kubeflow.org/v1, training-operator 1.9: pytorch_types.go, common_types.go
//   TrainJob    trainer.kubeflow.org/v1alpha1, trainer 2.0, 2.1 and 2.2: its CRDs
//   JobSet      jobset.x-k8s.io/v1alpha2, v0.8: jobset_types.go
nlohmann::ordered_json manifest(Operator which, const Workload& job,
                                PodChanges changes = PodChanges::runtime_patches);
nlohmann::ordered_json pytorchjob(const Workload& job);
nlohmann::ordered_json trainjob(const Workload& job,
                                PodChanges changes = PodChanges::runtime_patches);
nlohmann::ordered_json jobset(const Workload& job);

// Escapes a text so that kubelet passes it to a pod unchanged. Each $ is doubled, because in
// commands, arguments and variables kubelet replaces $(NAME) and reads $$ as $
// (k8s.io/kubernetes/third_party/forked/golang/expansion).
std::string unexpanded(std::string_view text);

// An object in the API server that owns other objects.
struct Owner {
  std::string api_version;  // "kubeflow.org/v1"
  std::string kind;
  std::string name;
  std::string uid;
};

// Reads the owner from the output of `kubectl create -o json`. Pure function. Error: the output
// does not name an owner.
Result<Owner> parse_owner(std::string_view text);

// Returns the Secret `Workload::own_secret` with these values, by variable name. Kubernetes deletes
// the Secret together with its owner. `owner` is null only for a trial submission, which creates
// nothing. Values may contain any bytes. Pure function.
nlohmann::ordered_json secret_object(const Workload& job,
                                     const std::map<std::string, std::string>& values,
                                     const Owner* owner);

}  // namespace toprun::engines::kubernetes
