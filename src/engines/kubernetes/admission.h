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

// Whether the output of `kubectl get namespace -o json` requires restricted pods (Pod Security
// Admission, label pod-security.kubernetes.io/enforce). Pure function.
bool is_restricted(std::string_view namespace_object);

// Queries the namespace with kubectl; empty: the context's namespace. Blocks for at most three
// times `limit`.
bool asks_for_restricted(const std::string& space, const Environment& environment,
                         std::chrono::milliseconds limit);

// Whether the object in `kubectl get … -o json` output has no owner. The JobSet that a TrainJob
// made has its name, but belongs to the TrainJob. Pure function.
bool is_ones_own(std::string_view object);

// The kind of another operator's job with this name: "JobSet". toprun's commands find a job only by
// its name. nullopt: no such job. Blocks for at most twice `limit`.
std::optional<std::string> namesake(Operator which, const std::string& name,
                                    const std::string& space, const Environment& environment,
                                    std::chrono::milliseconds limit);

}  // namespace toprun::engines::kubernetes
