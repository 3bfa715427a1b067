#pragma once

#include <string>
#include <vector>

#include "engines/kubernetes/workload.h"

namespace toprun::engines::kubernetes {

// What lets the job's pods read the labels of nodes, NVLink domains among them, by `kubectl get
// nodes` (decide/topology/files/k8s_file.h), as lines for who runs the cluster; nodes are in no
// namespace, so it takes a ClusterRole. Empty: the job has one node. Pure.
std::vector<std::string> node_access(const Workload& job);

}  // namespace toprun::engines::kubernetes
