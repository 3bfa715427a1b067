#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "engines/kubernetes/operators.h"
#include "engines/kubernetes/workload.h"

namespace toprun::engines::kubernetes {

// Checks before submission whether a cluster will accept a job and its pods. If the cluster does
// not report the necessary facts to this user, a check passes. The cluster itself may then refuse
// the job later.

// Whether the output of `kubectl get namespace -o json` requires restricted pods (Pod Security
// Admission, label pod-security.kubernetes.io/enforce). Pure function.
bool is_restricted(std::string_view namespace_object);

// Whether the namespace `space` requires restricted pods, by a query with kubectl. If `space` is
// empty, the context's namespace is queried. Blocks for at most three times `limit`.
bool asks_for_restricted(const std::string& space, const Environment& environment,
                         std::chrono::milliseconds limit);

// Whether the object in `kubectl get … -o json` output has no owner. For example, the JobSet of a
// TrainJob has the same name, but the TrainJob owns it. Pure function.
bool is_ones_own(std::string_view object);

// Returns the kind ("JobSet") of another operator's job with this name. toprun's commands find a
// job only by its name, so the name must be unique. nullopt: there is no such job. Blocks for at
// most twice `limit`.
std::optional<std::string> namesake(Operator which, const std::string& name,
                                    const std::string& space, const Environment& environment,
                                    std::chrono::milliseconds limit);

// Returns lines with RBAC rules for the cluster's administrator. The rules allow the job's pods to
// read the labels of nodes with `kubectl get nodes` (decide/topology/files/formats.h), because a
// label may contain the NVLink domain. A ClusterRole is necessary, because nodes are in no
// namespace. Empty: the job has one node. Pure function.
std::vector<std::string> node_access(const Workload& job);

}  // namespace toprun::engines::kubernetes
