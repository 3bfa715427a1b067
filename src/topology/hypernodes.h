#pragma once

#include <string>
#include <vector>

#include "topology/files/data_tree.h"
#include "topology/k8s_labels.h"

namespace toprun::topology {

inline constexpr std::size_t max_hypernodes = 100'000;
// Of names and labels that selectors choose among: each looks at all.
inline constexpr std::size_t max_comparisons = 10'000'000;

// Volcano's HyperNodes (topology.volcano.sh/v1alpha1), each a performance domain: spec.tier, 1 the
// nearest, and spec.members, nodes or HyperNodes below, by name (exactMatch), by a regular
// expression (regexMatch) or, of nodes, by labels (labelMatch.matchLabels). The tiers in use are
// the levels: leaf, spine, … or what spec.tierName calls them.
// Expressions and labels choose among `nodes` and, by name, the members' nodes; of a HyperNode with
// labels and no nodes beside it a warning tells. The map is of the members, without any of all
// nodes. Error (file:line:column): a HyperNode without a name or tier, twice, inside two others of
// a tier or inside itself; a node inside two of a tier; an expression that is none; more than
// max_comparisons.
Result<Map> map_of_hypernodes(const std::vector<const DataNode*>& objects,
                              const std::vector<LabelledNode>& nodes, const std::string& file,
                              const std::vector<Member>& members);

}  // namespace toprun::topology
