#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/os/environment.h"
#include "engines/kubernetes/operators.h"

namespace toprun::engines::kubernetes {

// Checks before submission whether a cluster will accept a job and its pods. Facts that the cluster
// does not report, or not to this user, stay open: then the cluster itself may refuse the job.

// Whether `kubectl get namespace -o json` prints a namespace whose pods have to be restricted (Pod
// Security Admission, label pod-security.kubernetes.io/enforce). Pure.
bool is_restricted(std::string_view namespace_object);

// Queries the namespace with kubectl; empty: the context's namespace. Blocks for at most three
// times `limit`.
bool asks_for_restricted(const std::string& space, const Environment& environment,
                         std::chrono::milliseconds limit);

// Whether `kubectl get … -o json` prints an object that no other object owns: the JobSet that a
// TrainJob has made has its name. Pure.
bool is_ones_own(std::string_view object);

// The other kind that has a job of this name: "JobSet". toprun's verbs find a job by its name
// alone. nullopt: none is known. Blocks twice `limit` at most.
std::optional<std::string> namesake(Operator which, const std::string& name,
                                    const std::string& space, const Environment& environment,
                                    std::chrono::milliseconds limit);

}  // namespace toprun::engines::kubernetes
