#include "decide/topology/hypernodes.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/net/hostlist.h"
#include "base/text/text.h"
#include "decide/topology/pattern.h"

namespace toprun::topology {
namespace {

using Kind = DataNode::Kind;
using Index = std::size_t;

struct HyperNode {
  std::string name;
  int tier = 0;
  std::string tier_name;
  const DataNode* members = nullptr;
  Position where;
  std::set<Index> parents;
};

class HyperNodeReader {
 public:
  HyperNodeReader(const std::vector<LabelledNode>& nodes, const std::string& file,
                  const std::vector<Member>& members)
      : nodes_(nodes), file_(file), builder_(file) {
    for (const LabelledNode& node : nodes) add_candidate(node.name);
    for (const Member& member : members) {
      add_candidate(member.node.empty() ? member.name : member.node);
    }
  }

  Result<Map> run(const std::vector<const DataNode*>& objects) {
    for (const DataNode* object : objects) {
      TRY(take(*object));
    }
    for (Index i = 0; i < hypernodes_.size(); ++i) {
      TRY(take_members(i));
    }
    std::map<int, std::string> tiers;  // with their names
    for (const HyperNode& hypernode : hypernodes_) {
      std::string& name = tiers[hypernode.tier];
      if (name.empty()) name = hypernode.tier_name;
    }
    if (tiers.size() > max_levels) {
      return refuse({}, fmt::format("more than {} tiers", max_levels));
    }
    for (const auto& [node, parents] : parents_of_) {
      TRY(place(node, parents, tiers));
    }
    for (const std::string& word : unmatched_) builder_.warn(word);
    return builder_.finish(level_names(tiers));
  }

 private:
  std::unexpected<Error> refuse(Position where, std::string why, std::string fix = {}) const {
    return usage(at(file_, where), std::move(why), std::move(fix));
  }

  void add_candidate(const std::string& name) { candidates_.insert(name); }

  Result<void> take(const DataNode& object) {
    HyperNode hypernode{text_or_empty(value_at(&object, {"metadata", "name"})),
                        0,
                        text_or_empty(value_at(&object, {"spec", "tierName"})),
                        value_at(&object, {"spec", "members"}),
                        object.where,
                        {}};
    if (hypernode.name.empty()) return refuse(object.where, "the name of a HyperNode is missing");
    const auto tier = parse_int(text_or_empty(value_at(&object, {"spec", "tier"})));
    if (!tier || *tier < 0 || *tier > 1'000'000) {
      return refuse(object.where,
                    fmt::format("the tier of HyperNode {} is missing", hypernode.name),
                    "set spec.tier to a number: 1 is the nearest tier");
    }
    hypernode.tier = static_cast<int>(*tier);
    if (hypernodes_.size() == max_hypernodes) {
      return refuse(object.where, fmt::format("more than {} HyperNodes", max_hypernodes));
    }
    if (!by_name_.emplace(hypernode.name, hypernodes_.size()).second) {
      return refuse(object.where, fmt::format("HyperNode {} appears twice", hypernode.name),
                    "remove one of the two");
    }
    hypernodes_.push_back(std::move(hypernode));
    return {};
  }

  Result<void> take_members(Index i) {
    const DataNode* members = hypernodes_[i].members;
    if (!members || members->kind != Kind::list) return {};
    for (const DataNode& member : members->items) {
      if (auto taken = take_member(i, member); !taken) return taken;
    }
    return {};
  }

  Result<void> take_member(Index i, const DataNode& member) {
    const bool of_nodes = text_or_empty(member.find("type")) == "Node";
    if (const DataNode* name = value_at(&member, {"selector", "exactMatch", "name"})) {
      return of_nodes ? add_node(i, name->text) : add_hypernode(i, name->text, name->where);
    }
    if (const DataNode* pattern = value_at(&member, {"selector", "regexMatch", "pattern"})) {
      return add_matching(i, *pattern, of_nodes);
    }
    const DataNode* labels = value_at(&member, {"selector", "labelMatch", "matchLabels"});
    if (of_nodes && labels && !nodes_.empty()) return add_labelled(i, *labels);
    unmatched_.push_back(
        fmt::format("{}: HyperNode {} selects nodes by label, and the file does not contain the "
                    "nodes: add them with `kubectl get nodes,hypernodes -o json`",
                    at_line(file_, member.where.line), hypernodes_[i].name));
    return {};
  }

  Result<void> add_matching(Index i, const DataNode& text, bool of_nodes) {
    const auto pattern = Pattern::compile(text.text);
    if (!pattern) return refuse(text.where, "this is not a regular expression: " + pattern.error());
    const std::size_t names = of_nodes ? candidates_.size() : hypernodes_.size();
    if (auto spent = count_comparisons(names, text.where); !spent) return spent;
    if (of_nodes) {
      for (const std::string& name : candidates_) {
        if (pattern->finds(name)) (void)add_node(i, name);
      }
      return {};
    }
    for (Index k = 0; k < hypernodes_.size(); ++k) {
      if (k == i || !pattern->finds(hypernodes_[k].name)) continue;
      if (auto added = add_hypernode(i, hypernodes_[k].name, text.where); !added) return added;
    }
    return {};
  }

  Result<void> count_comparisons(std::size_t comparisons, Position where) {
    if (comparisons > comparisons_left_) {
      return refuse(where, "there are too many selectors for this number of nodes",
                    "name members by exactMatch");
    }
    comparisons_left_ -= comparisons;
    return {};
  }

  Result<void> add_labelled(Index i, const DataNode& labels) {
    TRY(count_comparisons(nodes_.size() * labels.keys.size(), labels.where));
    for (const LabelledNode& node : nodes_) {
      bool all = !labels.keys.empty();
      for (Index k = 0; all && k < labels.keys.size(); ++k) {
        const auto found = node.labels.find(labels.keys[k].name);
        all = found != node.labels.end() && found->second == labels.items[k].text;
      }
      if (all) (void)add_node(i, node.name);
    }
    return {};
  }

  Result<void> add_node(Index i, const std::string& name) {
    if (name.empty() || name.size() > hosts::max_name_bytes) {
      return refuse(hypernodes_[i].where, "the name of a member is not a valid node name");
    }
    parents_of_[name].insert(i);
    return {};
  }

  // A name that is not in the list may belong to another part of the cluster; it is ignored.
  Result<void> add_hypernode(Index i, const std::string& name, Position where) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return {};
    HyperNode& child = hypernodes_[found->second];
    if (child.tier >= hypernodes_[i].tier) {
      return refuse(where,
                    fmt::format("HyperNode {} of tier {} is inside {} of tier {}", name, child.tier,
                                hypernodes_[i].name, hypernodes_[i].tier),
                    "the inner HyperNode must have the lower tier");
    }
    child.parents.insert(i);
    return {};
  }

  // Tiers increase on the way up, so the recursion ends.
  Result<void> climb(Index i, const std::string& node, std::map<int, Index>& path) const {
    const auto [known, is_new] = path.emplace(hypernodes_[i].tier, i);
    if (!is_new && known->second != i) {
      return refuse(
          hypernodes_[i].where,
          fmt::format("node {} is inside the HyperNodes {} and {} of tier {}", node,
                      hypernodes_[known->second].name, hypernodes_[i].name, hypernodes_[i].tier),
          "put each node into only one HyperNode per tier");
    }
    if (!is_new) return {};
    for (const Index parent : hypernodes_[i].parents) {
      if (auto climbed = climb(parent, node, path); !climbed) return climbed;
    }
    return {};
  }

  Result<void> place(const std::string& node, const std::set<Index>& parents,
                     const std::map<int, std::string>& tiers) {
    std::map<int, Index> up;
    for (const Index parent : parents) {
      if (auto climbed = climb(parent, node, up); !climbed) return climbed;
    }
    Path path;
    for (auto tier = tiers.rbegin(); tier != tiers.rend(); ++tier) {
      const auto found = up.find(tier->first);
      path.push_back(found == up.end() ? Domain::none() : Domain(hypernodes_[found->second].name));
    }
    const Position where = hypernodes_[*parents.begin()].where;
    return builder_.add(node, {std::move(path), at_line(file_, where.line), {}}, at(file_, where));
  }

  // Outermost first. The site's own name for a tier counts only if no other tier has it.
  static std::vector<std::string> level_names(const std::map<int, std::string>& tiers) {
    std::vector<std::string> names = switch_level_names(tiers.size());
    Index i = tiers.size();
    for (const auto& [tier, name] : tiers) {
      --i;
      if (!name.empty() && std::ranges::find(names, name) == names.end()) names[i] = name;
    }
    return names;
  }

  const std::vector<LabelledNode>& nodes_;
  const std::string& file_;
  MapBuilder builder_;
  std::set<std::string> candidates_;  // nodes that regular expressions select from
  std::vector<HyperNode> hypernodes_;
  std::unordered_map<std::string, Index> by_name_;
  std::map<std::string, std::set<Index>> parents_of_;  // by node
  std::vector<std::string> unmatched_;
  std::size_t comparisons_left_ = max_comparisons;
};

}  // namespace

Result<Map> map_of_hypernodes(const std::vector<const DataNode*>& objects,
                              const std::vector<LabelledNode>& nodes, const std::string& file,
                              const std::vector<Member>& members) {
  auto map = HyperNodeReader(nodes, file, members).run(objects);
  if (!map || members.empty()) return map;
  // Uses the members' names, as for labels.
  std::vector<LabelledNode> known;
  std::unordered_map<std::string, const Location*> places;
  for (const Map::Entry& entry : map->hosts) {
    known.push_back({entry.host, {}, entry.host});
    places.emplace(entry.host, &entry.location);
  }
  Map mine = *map;
  mine.hosts.clear();
  for (const LabelledNode& node : nodes_of(std::move(known), members)) {
    mine.hosts.push_back({node.name, *places.at(node.evidence)});
  }
  return mine;
}

}  // namespace toprun::topology
