#pragma once

#include <span>
#include <string>

#include "decide/topology/files/data_tree.h"
#include "decide/topology/source.h"

namespace toprun::topology {

// Whether a JSON or YAML document is a Kubernetes object.
bool is_kubernetes(const DataNode& root);

// Reads the output of `kubectl get nodes -o json` or -o yaml. It may list a single Node. The levels
// are the nodes' labels (k8s_labels.h). If the list also contains a Topology (of Kueue or KAI), the
// labels that the Topology lists are the levels. If the list contains HyperNodes (hypernodes.h),
// they become additional levels. A Kueue Workload is ignored, because it does not contain the
// nodes' places. A YAML file may have several documents, each a list or an object. The map contains
// only the places of `members`; without members, the places of all nodes. Errors
// (file:line:column): neither nodes nor HyperNodes, a node without a name, a duplicate node.
Result<Map> map_of_kubernetes(std::span<const DataNode> documents, const std::string& file,
                              const std::vector<Member>& members);

// Requests the nodes' labels from the cluster, and waits for at most request.budget. Uses kubectl,
// as the user or as the pod's service account. In a pod without kubectl, sends its own request with
// the token of the pod's service account (api_server.h). nullopt: no member is a node of the
// cluster.
Result<std::optional<Map>> read_cluster(const Request& request);

// Whether this process is in a pod with access to the cluster. If so, `auto` queries the cluster.
bool can_ask_cluster(const Request& request);

}  // namespace toprun::topology
