#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decide/topology/source.h"

namespace toprun::topology {

inline constexpr std::size_t max_injected_labels_bytes = 64u
                                                         // the kubelet's own files are smaller
                                                         << 10;

using Labels = std::map<std::string, std::string, std::less<>>;

// A Kubernetes node and its labels.
struct LabelledNode {
  std::string name;
  Labels labels;
  std::string evidence;  // "nodes.json:17"
};

// Whether a label with this name describes a node's place. The known labels are those of Kubernetes
// itself (topology.kubernetes.io), NVIDIA's topograph (before and since 1.0), GPU feature
// discovery, EKS, GKE, OKE and CoreWeave; docs/guides/topology.md lists them.
bool is_place_label(std::string_view label);

// Builds the levels from the nodes' labels. The labels of one maker, such as NVIDIA's or EKS's,
// form one chain of levels. The chains are combined into one tree (nest.h). A chain that
// contradicts an earlier chain is left out with a warning. `site`: the site's own labels, outermost
// first; if there are any, only these become levels. Error: a node is listed twice.
Result<Map> map_of_labels(const std::vector<LabelledNode>& nodes, const std::string& source,
                          const std::vector<std::string>& site = {});

// Returns the Kubernetes nodes on which the job's members run, under the members' names. If
// `members` is empty, returns all nodes. A pod has another name than its node; Member::node is the
// node's name, if known.
std::vector<LabelledNode> nodes_of(std::vector<LabelledNode> nodes,
                                   const std::vector<Member>& members);

// Reads the topology labels of this process's node: from $TOPRUN_NODE_LABELS ("KEY=VALUE,…"), else
// from the file in $TOPRUN_NODE_LABELS_FILE, else from /etc/podinfo/labels. The kubelet writes such
// a file, with lines KEY="VALUE", for a downward API volume. nullopt: no labels.
std::optional<std::string> injected_labels(const Environment& environment,
                                           const std::filesystem::path& root = "/");

// Parses labels in one of the two forms: "KEY=VALUE,…" or lines KEY="VALUE". Error: the text has
// another form.
Result<Labels> parse_injected_labels(std::string_view text);

// Builds a map of the job's nodes whose pods reported the labels from injected_labels().
Result<std::optional<Map>> read_injected_labels(const Request& request);

}  // namespace toprun::topology
