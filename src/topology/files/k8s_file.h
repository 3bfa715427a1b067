#pragma once

#include <span>
#include <string>
#include <string_view>

#include "topology/files/data_tree.h"
#include "topology/source.h"

namespace toprun::topology {

// Whether a JSON or YAML document is a Kubernetes object.
bool is_kubernetes(const DataNode& root);

// Reads the output of `kubectl get nodes -o json` or -o yaml, or one Node: the levels are the
// nodes' labels (k8s_labels.h). If the list also contains a Topology (of Kueue or KAI), the labels
// that it lists are the levels. HyperNodes (hypernodes.h) in the list form additional levels. A
// Kueue Workload is ignored, because it does not contain the nodes' places. A YAML file may have
// several documents, each a list or an object. `members`: the map contains only their places;
// without members, those of all nodes. Errors (file:line:column): neither nodes nor HyperNodes, a
// node without a name, a duplicate node.
Result<Map> map_of_kubernetes(std::span<const DataNode> documents, const std::string& file,
                              const std::vector<Member>& members);

// Runs `kubectl get nodes -o json` within the request's budget, as the user or the pod's service
// account. nullopt: the output contains none of the members.
Result<std::optional<Map>> read_kubectl(const Request& request);

// Whether this process is in a pod with kubectl, so that `auto` can use it.
bool has_kubectl(const Request& request);

}  // namespace toprun::topology
