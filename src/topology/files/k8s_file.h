#pragma once

#include <span>
#include <string>
#include <string_view>

#include "topology/files/data_tree.h"
#include "topology/source.h"

namespace toprun::topology {

// Whether a document of JSON or YAML is one of Kubernetes' objects.
bool is_kubernetes(const DataNode& root);

// What `kubectl get nodes -o json` prints, or -o yaml, or one Node: levels are the nodes' labels
// (k8s_labels.h). Where the list has a Topology too (of Kueue or KAI), the labels that it names
// are the levels. HyperNodes (hypernodes.h) of the list make levels of their own. Of a Workload of
// Kueue nothing is read: it does not say which node is where.
// A YAML file may have several documents, each a list or an object.
// `members`: whose places are wanted; without any all nodes'.
// Error (file:line:column): neither nodes nor hypernodes in it, a node without a name or twice.
Result<Map> map_of_kubernetes(std::span<const DataNode> documents, const std::string& file,
                              const std::vector<Member>& members);

// Runs `kubectl get nodes -o json` within the request's budget, as the user or the pod's service
// account. nullopt: it knows none of the members.
Result<std::optional<Map>> read_kubectl(const Request& request);

// Whether this process is in a pod with a kubectl, which is worth to be asked unasked.
bool has_kubectl(const Request& request);

}  // namespace toprun::topology
