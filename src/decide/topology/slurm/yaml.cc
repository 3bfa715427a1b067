#include "decide/topology/slurm/yaml.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/net/hostlist.h"
#include "base/os/files.h"
#include "base/text/text.h"
#include "decide/topology/files/data_tree.h"
#include "decide/topology/files/formats.h"
#include "decide/topology/nest.h"
#include "decide/topology/position.h"
#include "decide/topology/slurm/conf.h"
#include "decide/topology/slurm/switch_tree.h"
#include "decide/topology/torus.h"

namespace toprun::topology {
namespace {

using Kind = DataNode::Kind;

constexpr std::string_view see = "see man topology.yaml";

bool is_true(const DataNode& node) {
  const std::string text = lower(node.text);
  return text == "true" || text == "yes" || text == "on" || text == "1";
}

// topograph has written two keys as its Go code names them.
const DataNode* find_either(const DataNode& table, std::string_view key, std::string_view other) {
  const DataNode* found = table.find(key);
  return found ? found : table.find(other);
}

class TopologyYamlReader {
 public:
  TopologyYamlReader(const std::string& file, std::vector<std::string> known_hosts)
      : file_(file), known_hosts_(std::move(known_hosts)) {}

  Result<Map> run(const DataNode& root, const TopologyChoice& choice) {
    if (root.kind == Kind::empty) return Map{};
    if (root.kind != Kind::list) {
      return refuse(root.where, "expected a list of topologies: - topology: NAME",
                    std::string(see));
    }
    const auto topologies = TRY(choose(root, choice));
    Map all;
    for (const DataNode* topology : topologies) {
      auto map = TRY(read(*topology));
      map.source = topology->find("topology")->text;
      join(all, std::move(map));
    }
    std::ranges::move(warnings_, std::back_inserter(all.warnings));
    if (all.hosts.empty()) std::ranges::move(without_hosts_, std::back_inserter(all.warnings));
    unknown_keys_.warn(all.warnings, "keys");
    return all;
  }

 private:
  std::unexpected<Error> refuse(Position where, std::string why, std::string fix = {}) const {
    return usage(at(file_, where), std::move(why), std::move(fix));
  }

  // Counts keys that are not in `known`.
  void check_keys(const DataNode& table, std::initializer_list<std::string_view> known) {
    for (const DataNode::Key& key : table.keys) {
      if (std::ranges::find(known, key.name) != known.end()) continue;
      unknown_keys_.add([&] {
        return fmt::format("{}: unknown key {} is ignored", at(file_, key.where), key.name);
      });
    }
  }

  // A name belongs to its topology: generators count block1, block2 from the start in each. Two
  // domains of one name and of no common host are two.
  static void keep_names_apart(const Map& all, Map& more) {
    std::unordered_map<std::string, std::unordered_set<std::string_view>> known;
    for (const Map::Entry& entry : all.hosts) {
      for (const Domain& domain : entry.location.path) {
        if (domain) known[*domain].insert(entry.host);
      }
    }
    std::unordered_set<std::string> shared;
    for (const Map::Entry& entry : more.hosts) {
      for (const Domain& domain : entry.location.path) {
        const auto found = domain ? known.find(*domain) : known.end();
        if (found != known.end() && found->second.contains(entry.host)) shared.insert(*domain);
      }
    }
    std::map<const void*, Path> renamed;  // by the path that neighbours share
    for (Map::Entry& entry : more.hosts) {
      Path& path = entry.location.path;
      const auto [done, is_new] = renamed.try_emplace(path.identity(), path);
      for (std::size_t level = 0; is_new && level < path.size(); ++level) {
        const Domain& domain = path[level];
        if (!domain || !known.contains(*domain) || shared.contains(*domain)) continue;
        done->second.set(level, fmt::format("{}:{}", more.source, *domain));
      }
      path = done->second;
    }
  }

  // Adds another topology of the cluster. If the two contradict each other, the earlier facts stay.
  void join(Map& all, Map more) {
    if (all.levels.empty() || more.levels.empty()) {
      all = *merge(std::move(all), std::move(more));
      return;
    }
    std::vector<std::string> warnings = more.warnings;
    keep_names_apart(all, more);
    auto nested = nest(all, std::move(more));
    if (nested) {
      all = *std::move(nested);
      return;
    }
    std::ranges::move(warnings, std::back_inserter(warnings_));
    warnings_.push_back(fmt::format("{}: {}: {}; used {}, which has precedence", file_,
                                    nested.error()->what, nested.error()->why, all.source));
  }

  // The wanted topologies. The first is the one that Slurm uses for partitions without their own
  // choice.
  Result<std::vector<const DataNode*>> choose(const DataNode& root, const TopologyChoice& choice) {
    std::vector<const DataNode*> all;
    bool has_default = false;
    for (const DataNode& entry : root.items) {
      const DataNode* name = entry.kind == Kind::table ? entry.find("topology") : nullptr;
      if (!name || name->kind != Kind::text) {
        return refuse(entry.where, "this entry does not name a topology",
                      "write - topology: NAME, and below it tree, block, ring, torus3d or flat");
      }
      const DataNode* mark = find_either(entry, "cluster_default", "clusterDefault");
      const bool first = mark && is_true(*mark) && !has_default;
      has_default = has_default || first;
      all.insert(first ? all.begin() : all.end(), &entry);
    }
    if (choice.name) return by_name(root, all, *choice.name);
    if (choice.only_default && all.size() > 1) all.resize(1);
    return all;
  }

  Result<std::vector<const DataNode*>> by_name(const DataNode& root,
                                               const std::vector<const DataNode*>& all,
                                               const std::string& name) const {
    std::vector<std::string> names;
    for (const DataNode* entry : all) names.push_back(entry->find("topology")->text);
    const auto found = std::ranges::find(names, name);
    if (found != names.end())
      return std::vector{all[static_cast<std::size_t>(found - names.begin())]};
    return refuse(root.where, fmt::format("there is no topology {}", name),
                  fmt::format("choose one of: {}", fmt::join(names, ", ")));
  }

  Result<Map> read(const DataNode& entry) {
    const std::string& name = entry.find("topology")->text;
    check_keys(entry, {"topology", "cluster_default", "clusterDefault", "tree", "block", "flat",
                       "ring", "torus3d"});
    std::vector<const DataNode::Key*> kinds;
    bool any_empty = false;
    for (const DataNode::Key& key : entry.keys) {
      for (const std::string_view kind : {"tree", "block", "flat", "ring", "torus3d"}) {
        const DataNode* value = key.name == kind ? entry.find(kind) : nullptr;
        if (!value) continue;
        // `scontrol show topoconf` of 26.05 prints the keys of all types, with "{}" for the unused
        // types.
        const bool empty = value->kind == Kind::table && value->keys.empty();
        any_empty = any_empty || empty;
        if (!empty) kinds.push_back(&key);
      }
    }
    if (kinds.empty() && any_empty) return map_without_hosts(entry.where, name, "empty");
    if (kinds.empty()) {
      return refuse(
          entry.where,
          fmt::format("topology {} has neither tree, block, ring, torus3d nor flat", name),
          std::string(see));
    }
    if (kinds.size() > 1) {
      return refuse(
          kinds[1]->where,
          fmt::format("topology {} is both {} and {}", name, kinds[0]->name, kinds[1]->name),
          "remove one of the two");
    }
    const DataNode& value = *entry.find(kinds[0]->name);
    if (kinds[0]->name == "tree") return read_tree(value);
    if (kinds[0]->name == "block") return read_blocks(value);
    if (kinds[0]->name == "ring") return read_rings(value);
    if (kinds[0]->name == "torus3d") return read_toruses(value);
    return map_without_hosts(kinds[0]->where, name, "flat");
  }

  Map map_without_hosts(Position where, const std::string& name, std::string_view how) {
    without_hosts_.push_back(fmt::format("{}: topology {} is {}: it does not say where any host is",
                                         at_line(file_, where.line), name, how));
    return {};
  }

  // The list at a key of a table; every item is a table with the key `name`.
  Result<const DataNode*> list_of(const DataNode& table, std::string_view key,
                                  std::string_view name) {
    const DataNode* list = table.kind == Kind::table ? table.find(key) : nullptr;
    if (!list || list->kind != Kind::list) {
      return refuse(list ? list->where : table.where, fmt::format("expected a list of {}", key),
                    std::string(see));
    }
    for (const DataNode& item : list->items) {
      const DataNode* named = item.kind == Kind::table ? item.find(name) : nullptr;
      if (named && named->kind == Kind::text &&
          named->text.find_first_of("[],{}") == std::string::npos) {
        continue;
      }
      return refuse(named ? named->where : item.where,
                    fmt::format("an entry of {} does not have the name of one {}", key, name),
                    fmt::format("write {}: NAME", name));
    }
    return list;
  }

  // The hosts or switches at a key, in one host list or in several.
  Result<std::vector<std::string>> names(const DataNode& table, std::string_view key,
                                         std::size_t& budget) {
    std::vector<std::string> all;
    const DataNode* value = table.find(key);
    if (!value) return all;
    if (value->kind == Kind::table) {
      return refuse(value->where, fmt::format("{} must be a host list", key),
                    "write it as in n[0-3]");
    }
    const std::span<const DataNode> lists =
        value->kind == Kind::list ? std::span(value->items) : std::span(value, 1);
    for (const DataNode& list : lists) {
      if (key == "nodes" && lower(list.text) == "all") {
        if (known_hosts_.empty()) {
          return refuse(list.where,
                        "nodes: ALL stands for all hosts, but this command has no list of hosts",
                        "pass the file to a launch, because a launch has a list of hosts; or write "
                        "the names of the nodes");
        }
        std::ranges::copy(known_hosts_, std::back_inserter(all));
        continue;
      }
      auto hosts = hosts::parse_hostlist(list.text, budget);
      if (!hosts) {
        return refuse(list.where,
                      fmt::format("host list '{}', column {}: {}", list.text.substr(0, 60),
                                  hosts.error().column, hosts.error().why),
                      hosts.error().fix);
      }
      budget -= hosts->size();
      std::ranges::move(*hosts, std::back_inserter(all));
    }
    return all;
  }

  Result<Map> read_tree(const DataNode& tree) {
    const auto list = TRY(list_of(tree, "switches", "switch"));
    check_keys(tree, {"switches"});
    std::vector<Switch> switches;
    for (const DataNode& item : list->items) {
      check_keys(item, {"switch", "children", "nodes"});
      auto nodes = TRY(names(item, "nodes", nodes_left_));
      auto children = TRY(names(item, "children", links_left_));
      const std::string& name = item.find("switch")->text;
      if (!nodes.empty() && !children.empty()) {
        children.clear();
        warnings_.push_back(fmt::format(
            "{} (switch {}): the switch has nodes, so toprun ignores its children, as Slurm does",
            at_line(file_, item.where.line), name));
      }
      switches.push_back({name, std::move(nodes), std::move(children), at(file_, item.where),
                          at_line(file_, item.where.line)});
    }
    return map_of_switches(file_, switches);
  }

  Result<Map> read_blocks(const DataNode& block) {
    const auto list = TRY(list_of(block, "blocks", "block"));
    check_keys(block, {"block_sizes", "blockSizes", "blocks"});
    std::vector<Block> blocks;
    for (const DataNode& item : list->items) {
      check_keys(item, {"block", "nodes"});
      auto nodes = TRY(names(item, "nodes", nodes_left_));
      blocks.push_back({item.find("block")->text, std::move(nodes), at(file_, item.where),
                        at_line(file_, item.where.line)});
    }
    std::vector<std::size_t> sizes;
    Position where = block.where;
    if (const DataNode* value = find_either(block, "block_sizes", "blockSizes")) {
      where = value->where;
      sizes = TRY(read_sizes(*value));
    }
    return map_of_blocks(file_, blocks, groups_of_sizes(blocks, sizes, at(file_, where)),
                         sizes.empty() ? 0 : std::ranges::min(sizes));
  }

  Result<Map> read_rings(const DataNode& ring) {
    const auto list = TRY(list_of(ring, "rings", "ring"));
    check_keys(ring, {"rings"});
    std::vector<Ring> rings;
    for (const DataNode& item : list->items) {
      check_keys(item, {"ring", "nodes"});
      auto nodes = TRY(names(item, "nodes", nodes_left_));
      rings.push_back({item.find("ring")->text, std::move(nodes), at(file_, item.where),
                       at_line(file_, item.where.line)});
    }
    return map_of_rings(file_, rings);
  }

  Result<Map> read_toruses(const DataNode& torus3d) {
    const DataNode* first = torus3d.find("toruses");
    const bool by_kind = first && !first->items.empty() && first->items[0].find("torus");
    const std::string_view name_key = by_kind ? "torus" : "name";
    const auto list = TRY(list_of(torus3d, "toruses", name_key));
    check_keys(torus3d, {"toruses"});
    std::vector<Torus> toruses;
    for (const DataNode& item : list->items) {
      check_keys(item, {name_key, "dims", "nodes", "regions", "placements"});
      auto torus = TRY(read_torus(item, name_key));
      toruses.push_back(std::move(torus));
    }
    return map_of_toruses(file_, toruses);
  }

  Result<Torus> read_torus(const DataNode& item, std::string_view name_key) {
    const auto dims = TRY(coordinates(item, "dims", 1));
    Torus torus{item.find(name_key)->text, dims, {}};
    const DataNode* regions = item.find("regions");
    if (!regions) {
      auto region = TRY(read_region(item, {}, dims));
      torus.regions.push_back(std::move(region));
    }
    for (std::size_t i = 0; regions && i < regions->items.size(); ++i) {
      const DataNode& one = regions->items[i];
      check_keys(one, {"anchor", "dims", "nodes"});
      const auto anchor = TRY(coordinates(one, "anchor", 0));
      const auto size = TRY(coordinates(one, "dims", 1));
      auto region = TRY(read_region(one, anchor, size));
      torus.regions.push_back(std::move(region));
    }
    return torus;
  }

  Result<TorusRegion> read_region(const DataNode& item, const Coordinates& anchor,
                                  const Coordinates& dims) {
    auto nodes = TRY(names(item, "nodes", nodes_left_));
    return TorusRegion{anchor, dims, std::move(nodes), at(file_, item.where),
                       at_line(file_, item.where.line)};
  }

  // Parses {x: 4, y: 4, z: 8}: three numbers, each at least `least`.
  Result<Coordinates> coordinates(const DataNode& table, std::string_view key, int least) const {
    constexpr std::array<std::string_view, 3> axes = {"x", "y", "z"};
    const DataNode* value = table.find(key);
    Coordinates read{};
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      const DataNode* number = value ? value->find(axes[axis]) : nullptr;
      const auto extent = number ? parse_int(number->text) : std::nullopt;
      if (!extent || *extent < least || *extent > std::numeric_limits<std::uint16_t>::max()) {
        return refuse(value ? value->where : table.where,
                      fmt::format("{} has to be a table of x, y and z", key),
                      fmt::format("as in {}: {{x: 4, y: 4, z: 8}}", key));
      }
      read[axis] = static_cast<std::uint16_t>(*extent);
    }
    return read;
  }

  Result<std::vector<std::size_t>> read_sizes(const DataNode& value) const {
    std::vector<std::size_t> sizes;
    for (const DataNode& item : value.items) {
      const auto size = parse_int(item.text);
      if (item.kind != Kind::text || !size || *size < 1) break;
      sizes.push_back(static_cast<std::size_t>(*size));
    }
    if (value.kind == Kind::list && sizes.size() == value.items.size() &&
        sizes.size() <= max_levels) {
      return sizes;
    }
    return refuse(value.where,
                  fmt::format("block_sizes must be a list of at most {} numbers, each at least 1",
                              max_levels),
                  "as in block_sizes: [18, 36]");
  }

  const std::string& file_;
  const std::vector<std::string> known_hosts_;
  std::vector<std::string> warnings_;
  std::vector<std::string> without_hosts_;  // topologies without hosts
  Tally unknown_keys_;
  std::size_t nodes_left_ = hosts::max_hosts;
  std::size_t links_left_ = max_links;
};

}  // namespace

Result<Map> parse_slurm_yaml(std::string_view text, const std::string& file,
                             const TopologyChoice& choice,
                             const std::vector<std::string>& known_hosts) {
  const auto root = TRY(parse_yaml(text, file));
  return TopologyYamlReader(file, known_hosts).run(root, choice);
}

Result<Map> parse_yaml_file(std::string_view text, const std::string& file,
                            const std::vector<Member>& members, const TopologyChoice& choice) {
  const auto documents = TRY(parse_yaml_documents(text, file));
  if (documents.empty()) return Map{};
  if (is_kubernetes(documents.front())) return map_of_kubernetes(documents, file, members);
  if (documents.size() > 1) {
    return usage(at(file, documents[1].where), "the file contains a second document",
                 "write each document into its own file");
  }
  const DataNode& root = documents.front();
  if (root.kind == Kind::table) return map_of_plain(root, file);
  return TopologyYamlReader(file, names_of(members)).run(root, choice);
}

Result<Map> read_slurm_yaml_file(const std::filesystem::path& path, const TopologyChoice& choice,
                                 const std::vector<std::string>& known_hosts) {
  const auto text = TRY(read_file(path, max_yaml_bytes));
  return parse_slurm_yaml(text, path.string(), choice, known_hosts);
}

bool looks_like_yaml(std::string_view line) {
  return line.starts_with("---") || line.starts_with("%YAML") || line.starts_with("- ");
}

}  // namespace toprun::topology
