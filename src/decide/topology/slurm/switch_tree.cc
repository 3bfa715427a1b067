#include "decide/topology/slurm/switch_tree.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/net/hostlist.h"
#include "base/text/name_index.h"
#include "base/text/sets.h"

namespace toprun::topology {
namespace {

using Index = std::size_t;

class SwitchTree {
 public:
  SwitchTree(std::string source, const std::vector<Switch>& switches)
      : builder_(std::move(source)), switches_(switches) {}

  Result<Map> run() {
    TRY(link());
    TRY(find_levels());
    TRY(climb_from_leaves());
    TRY(place_nodes());
    return builder_.finish(switch_level_names(depth_));
  }

 private:
  // Resolves names to indexes.
  Result<void> link() {
    std::unordered_map<std::string, Index> by_name;
    for (Index i = 0; i < switches_.size(); ++i) {
      const auto [found, is_new] = by_name.emplace(switches_[i].name, i);
      if (is_new) continue;
      return usage(switches_[i].where,
                   fmt::format("switch {} appears twice, first at {}", switches_[i].name,
                               switches_[found->second].evidence),
                   "remove one of the two");
    }
    children_.resize(switches_.size());
    parents_.resize(switches_.size());
    for (Index i = 0; i < switches_.size(); ++i) {
      for (const std::string& child : switches_[i].children) {
        const auto found = by_name.find(child);
        if (found == by_name.end()) {
          return usage(
              switches_[i].where,
              fmt::format("switch {} is above {}, which no line defines", switches_[i].name, child),
              fmt::format("add SwitchName={}", child));
        }
        children_[i].push_back(found->second);
        parents_[found->second].push_back(i);
      }
    }
    return {};
  }

  // A switch's level is known after the levels of all its children. The remaining switches are in a
  // cycle or above one.
  Result<void> find_levels() {
    level_.assign(switches_.size(), 0);
    if (levels_are_given()) {
      for (Index i = 0; i < switches_.size(); ++i) level_[i] = *switches_[i].level;
    }
    std::vector<std::size_t> open_children;
    std::vector<Index> ready;
    for (Index i = 0; i < switches_.size(); ++i) {
      open_children.push_back(children_[i].size());
      if (children_[i].empty()) ready.push_back(i);
    }
    std::size_t done = 0;
    for (; done < ready.size(); ++done) {
      const Index i = ready[done];
      depth_ = std::max(depth_, level_[i] + 1);
      for (const Index parent : parents_[i]) {
        level_[parent] = std::max(level_[parent], level_[i] + 1);
        if (--open_children[parent] == 0) ready.push_back(parent);
      }
    }
    if (done < switches_.size()) return cycle(open_children);
    if (depth_ > max_levels) {
      const Index top = static_cast<Index>(std::ranges::max_element(level_) - level_.begin());
      return usage(switches_[top].where,
                   fmt::format("switch {} has more than {} levels below it", switches_[top].name,
                               max_levels - 1),
                   "check the tree: toprun does not read deeper trees");
    }
    return {};
  }

  // Whether Slurm gives a level for each switch, and each level is above those of its children.
  bool levels_are_given() const {
    for (Index i = 0; i < switches_.size(); ++i) {
      if (!switches_[i].level) return false;
      for (const Index child : children_[i]) {
        if (!switches_[child].level || *switches_[child].level >= *switches_[i].level) return false;
      }
    }
    return true;
  }

  std::unexpected<Error> cycle(const std::vector<std::size_t>& open_children) {
    Index at = 0;
    while (open_children[at] == 0) ++at;
    std::vector<bool> seen(switches_.size());
    const auto step_down = [&] {
      at = *std::ranges::find_if(children_[at], [&](Index c) { return open_children[c] > 0; });
    };
    for (; !seen[at]; step_down()) seen[at] = true;
    constexpr std::size_t shown = 8;  // switches of the cycle in the message
    const Index first = at;
    std::string names = switches_[first].name;
    std::size_t length = 0;
    do {
      step_down();
      ++length;
      if (length <= shown)
        names += fmt::format(" > {} ({})", switches_[at].name, switches_[at].evidence);
    } while (at != first);
    if (length > shown) names += " …";
    return usage(
        switches_[first].where, fmt::format("the switches form a cycle: {}", names),
        "a switch cannot be below itself: remove the field Switches= of one of these lines");
  }

  // Finds the switches above each leaf, including the leaf, in the order of the lines.
  Result<void> climb_from_leaves() {
    above_.resize(switches_.size());
    std::vector<Index> visited_for(switches_.size(), switches_.size());
    std::size_t pairs = 0;
    for (Index leaf = 0; leaf < switches_.size(); ++leaf) {
      if (switches_[leaf].nodes.empty()) continue;
      std::vector<Index>& found = above_[leaf];
      found.push_back(leaf);
      visited_for[leaf] = leaf;
      for (std::size_t i = 0; i < found.size(); ++i) {
        pairs += 1 + parents_[found[i]].size();
        if (pairs > max_switch_pairs) {
          return usage(
              switches_[leaf].where,
              fmt::format("the tree has more than {} pairs of a leaf and a switch above the leaf",
                          max_switch_pairs),
              "leave out the upper levels of the tree");
        }
        for (const Index parent : parents_[found[i]]) {
          if (std::exchange(visited_for[parent], leaf) != leaf) found.push_back(parent);
        }
      }
      std::ranges::sort(found);
    }
    return {};
  }

  // The names of the domains that these switches form, by level.
  Path path_of(const std::vector<Index>& switches) const {
    std::vector<std::vector<std::string>> names(depth_);
    for (const Index i : switches) names[depth_ - 1 - level_[i]].push_back(switches_[i].name);
    Path path;
    for (const auto& level : names) {
      path.push_back(level.empty() ? Domain::none() : Domain(hosts::compress_hostlist(level)));
    }
    return path;
  }

  Result<void> place_nodes() {
    if (auto read = find_leaves(); !read) return read;
    builder_.expect(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const Node& node = nodes_[i];
      const auto others = more_leaves_.find(i);
      auto path =
          TRY(others == more_leaves_.end() ? path_below({node.leaf}) : path_below(others->second));
      const Switch& leaf = switches_[node.leaf];
      TRY(builder_.add(std::string(node.name), {*path, leaf.evidence, {}}, leaf.where));
    }
    warn_of_several_leaves();
    return {};
  }

  // Finds the nodes, in the order of the lines, and the leaves above each.
  Result<void> find_leaves() {
    NameIndex index;
    const auto name_at = [&](std::size_t i) { return nodes_[i].name; };
    for (Index leaf = 0; leaf < switches_.size(); ++leaf) {
      for (const std::string& name : switches_[leaf].nodes) {
        const auto [node, is_new] = index.add(name, nodes_.size(), name_at);
        if (is_new) {
          nodes_.push_back({name, leaf});
          continue;
        }
        std::vector<Index>& leaves = more_leaves_[node];
        if (leaves.empty()) leaves.push_back(nodes_[node].leaf);
        if (leaves.back() == leaf) {
          return usage(switches_[leaf].where,
                       fmt::format("host {} appears twice in this line", name),
                       "remove one of the two");
        }
        leaves.push_back(leaf);
      }
    }
    return {};
  }

  // The path below these leaves; each combination of leaves creates it only once.
  Result<const Path*> path_below(const std::vector<Index>& leaves) {
    if (last_leaves_ && *last_leaves_ == leaves) return &paths_.at(leaves);
    const auto [path, is_new] = paths_.try_emplace(leaves);
    last_leaves_ = &path->first;
    if (!is_new) return &path->second;
    std::set<Index> all;
    for (const Index leaf : leaves) all.insert(above_[leaf].begin(), above_[leaf].end());
    pairs_ += all.size();
    if (pairs_ > max_switch_pairs) {
      return usage(switches_[leaves.front()].where, "too many hosts are below several leaves",
                   "write each host below only one leaf");
    }
    path->second = path_of({all.begin(), all.end()});
    return &path->second;
  }

  void warn_of_several_leaves() {
    if (more_leaves_.empty()) return;
    const auto& [node, leaves] = *more_leaves_.begin();
    std::string text = fmt::format("{}: host {} is below several leaves; it is also at {}",
                                   switches_[leaves[0]].evidence, nodes_[node].name,
                                   switches_[leaves[1]].evidence);
    if (more_leaves_.size() > 1) text += fmt::format(" ({} such hosts)", more_leaves_.size());
    builder_.warn(std::move(text));
  }

  struct Node {
    std::string_view name;
    Index leaf;  // the first leaf above it
  };

  MapBuilder builder_;
  const std::vector<Switch>& switches_;
  std::vector<std::vector<Index>> children_, parents_;
  std::vector<std::size_t> level_;  // 0: leaf
  std::size_t depth_ = 0;           // number of levels
  std::vector<std::vector<Index>> above_;
  std::vector<Node> nodes_;  // in the order of the lines
  // of nodes below several leaves: all the leaves
  std::map<std::size_t, std::vector<Index>> more_leaves_;
  std::map<std::vector<Index>, Path> paths_;
  const std::vector<Index>* last_leaves_ = nullptr;  // a key of paths_: adjacent nodes share leaves
  std::size_t pairs_ = 0;
};

// The levels of the groups: size in nodes → block's name → group's name.
using GroupLevels =
    std::map<std::size_t, std::unordered_map<std::string, std::string>, std::greater<>>;

Result<GroupLevels> group_levels(const std::vector<Block>& blocks,
                                 const std::vector<BlockGroup>& groups) {
  std::unordered_map<std::string, const Block*> by_name;
  for (const Block& block : blocks) {
    const auto [found, is_new] = by_name.emplace(block.name, &block);
    if (is_new) continue;
    return usage(
        block.where,
        fmt::format("block {} appears twice, first at {}", block.name, found->second->evidence),
        "remove one of the two");
  }
  GroupLevels levels;
  for (const BlockGroup& group : groups) {
    const std::string name = hosts::compress_hostlist(group.blocks);
    auto& level = levels[group.nodes];
    for (const std::string& block : group.blocks) {
      if (!by_name.contains(block)) {
        return usage(group.where,
                     fmt::format("block {} is in a group, but no line defines this block", block));
      }
      if (!level.emplace(block, name).second) {
        return usage(group.where,
                     fmt::format("block {} is in two groups of {} nodes", block, group.nodes));
      }
    }
  }
  return levels;
}

}  // namespace

Result<Map> map_of_switches(std::string source, const std::vector<Switch>& switches) {
  return SwitchTree(std::move(source), switches).run();
}

std::vector<BlockGroup> groups_of_sizes(const std::vector<Block>& blocks,
                                        std::vector<std::size_t> sizes, const std::string& where) {
  sort_distinct(sizes);
  std::vector<BlockGroup> groups;
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    const std::size_t together = std::max<std::size_t>(sizes[i] / sizes[0], 1);
    for (std::size_t first = 0; first < blocks.size(); first += together) {
      BlockGroup group{sizes[i], {}, where};
      const std::size_t end = std::min(blocks.size() - first, together) + first;
      for (std::size_t b = first; b < end; ++b) group.blocks.push_back(blocks[b].name);
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

Result<Map> map_of_blocks(std::string source, const std::vector<Block>& blocks,
                          const std::vector<BlockGroup>& groups, std::size_t size) {
  const auto levels = TRY(group_levels(blocks, groups));
  if (levels.size() >= max_levels) {
    return usage(groups.back().where, fmt::format("more than {} sizes of blocks", max_levels - 1));
  }
  MapBuilder builder(std::move(source));
  Tally too_large;
  for (const Block& block : blocks) {
    if (size > 0 && block.nodes.size() > size) {
      too_large.add([&] {
        return fmt::format("{}: block {} has {} nodes, more than its size {}", block.evidence,
                           block.name, block.nodes.size(), size);
      });
    }
    Path path;
    for (const auto& [nodes, group_of] : levels) {
      const auto found = group_of.find(block.name);
      path.push_back(found == group_of.end() ? Domain::none() : Domain(found->second));
    }
    path.push_back(block.name);
    for (const std::string& node : block.nodes) {
      TRY(builder.add(node, {path, block.evidence, {}}, block.where));
    }
  }
  builder.warn(too_large, "blocks");
  std::vector<std::string> names;
  for (const auto& [nodes, group_of] : levels) names.push_back(fmt::format("block{}", nodes));
  names.emplace_back("block");
  return builder.finish(std::move(names));
}

}  // namespace toprun::topology
