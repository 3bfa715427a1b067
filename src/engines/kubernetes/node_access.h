#pragma once

#include <string>
#include <vector>

#include "engines/kubernetes/workload.h"

namespace toprun::engines::kubernetes {

// RBAC lines for the cluster's administrator. These lines allow the job's pods to read the labels
// of nodes with `kubectl get nodes` (decide/topology/files/k8s_file.h); a label may contain the
// NVLink domain. A ClusterRole is necessary, because nodes are in no namespace. Empty: the job has
// one node. Pure function.
std::vector<std::string> node_access(const Workload& job);

}  // namespace toprun::engines::kubernetes
