#pragma once

#include <string>
#include <vector>

#include "decide/topology/files/data_tree.h"
#include "decide/topology/k8s_labels.h"

namespace toprun::topology {

inline constexpr std::size_t max_hypernodes = 100'000;
// The maximum number of comparisons between the HyperNodes' selectors and the names and labels of
// nodes. The limit is needed because each selector is compared with all names.
inline constexpr std::size_t max_comparisons = 10'000'000;

// Reads Volcano's HyperNodes (topology.volcano.sh/v1alpha1). Each HyperNode is a performance
// domain. Its level is spec.tier, where 1 is the innermost. Its spec.members lists nodes or lower
// HyperNodes by name (exactMatch), by a regular expression (regexMatch) or, for nodes, by labels
// (labelMatch.matchLabels). The tiers in use become the levels: leaf, spine, … or the name in
// spec.tierName. A regular expression is compared with the names of `nodes` and of the members'
// nodes, a label selector with the labels of `nodes`. If a HyperNode selects by labels and `nodes`
// is empty, there is a warning. The map contains the job's nodes (`members`); if `members` is
// empty, it contains all nodes. Errors (file:line:column): a HyperNode without a name or tier,
// defined twice, inside two HyperNodes of one tier or inside itself; a node inside two HyperNodes
// of one tier; an invalid regular expression; more than max_comparisons.
Result<Map> map_of_hypernodes(const std::vector<const DataNode*>& objects,
                              const std::vector<LabelledNode>& nodes, const std::string& file,
                              const std::vector<Member>& members);

}  // namespace toprun::topology
