#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/source.h"

namespace toprun::topology {

inline constexpr std::size_t max_injected_labels_bytes = 64u
                                                         << 10;  // the kubelet's own files: less

using Labels = std::map<std::string, std::string, std::less<>>;

// A node of Kubernetes and its labels.
struct LabelledNode {
  std::string name;
  Labels labels;
  std::string evidence;  // "nodes.json:17"
};

// Whether a label of this name says where a node is. Known are those of Kubernetes itself
// (topology.kubernetes.io), of NVIDIA's topograph (from 1.0 on and before) and GPU feature
// discovery, of EKS, GKE, OKE and CoreWeave; docs/topology.md lists them.
bool tells_a_place(std::string_view label);

// The levels that the nodes' labels make: a chain for each kind of label, nested (nest.h). A chain
// that contradicts those before it is left out with a warning. `site`: labels of the site's own
// that are levels, outermost first; then only these are. Error: a node twice.
Result<Map> map_of_labels(const std::vector<LabelledNode>& nodes, const std::string& source,
                          const std::vector<std::string>& site = {});

// The nodes that the members run on, under the members' names; without members all nodes. Pods have
// names of their own: a member's node is Member::node, if that is known.
std::vector<LabelledNode> nodes_of(std::vector<LabelledNode> nodes,
                                   const std::vector<Member>& members);

// The node's labels about its place that were passed to this process: $TOPRUN_NODE_LABELS
// ("KEY=VALUE,…"), else the file that $TOPRUN_NODE_LABELS_FILE names or /etc/podinfo/labels, as the
// kubelet writes it for a downward API volume (lines KEY="VALUE"). nullopt: there are none.
std::optional<std::string> injected_labels(const Environment& environment,
                                           const std::filesystem::path& root = "/");

// Parses either form. Error: the text has neither form.
Result<Labels> parse_injected_labels(std::string_view text);

// The map of the members that have their nodes' labels.
Result<std::optional<Map>> read_injected_labels(const Request& request);

}  // namespace toprun::topology
