#include "topology/slurm_yaml.h"

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "hosts/hostlist.h"
#include "topology/data_tree.h"
#include "topology/k8s_file.h"
#include "topology/plain_file.h"
#include "topology/slurm_conf.h"
#include "topology/slurm_tree.h"

namespace toprun::topology {
namespace {

using Kind = DataNode::Kind;

constexpr std::string_view see = "see man topology.yaml";

bool is_true(const DataNode& node) {
  const std::string text = lower(node.text);
  return text == "true" || text == "yes" || text == "on" || text == "1";
}

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  Result<Map> run(const DataNode& root) {
    if (root.kind == Kind::empty) return Map{};
    if (root.kind != Kind::list) {
      return refuse(root.where, "a list of topologies is expected: - topology: NAME",
                    std::string(see));
    }
    const auto topology = choose(root);
    if (!topology) return std::unexpected(topology.error());
    if (!*topology) return Map{};
    auto map = read(**topology);
    if (map) std::ranges::move(warnings_, std::back_inserter(map->warnings));
    if (map && unknown_keys_ > 0) {
      map->warnings.push_back(
          unknown_keys_ == 1 ? first_unknown_key_
                             : fmt::format("{} ({} such keys)", first_unknown_key_, unknown_keys_));
    }
    return map;
  }

 private:
  std::unexpected<Error> refuse(Position where, std::string why, std::string fix = {}) const {
    return usage(at(file_, where), std::move(why), std::move(fix));
  }

  // Counts keys other than these.
  void check_keys(const DataNode& table, std::initializer_list<std::string_view> known) {
    for (const DataNode::Key& key : table.keys) {
      if (std::ranges::find(known, key.name) != known.end()) continue;
      if (unknown_keys_++ == 0) {
        first_unknown_key_ =
            fmt::format("{}: unknown key {} is ignored", at(file_, key.where), key.name);
      }
    }
  }

  // The topology that Slurm uses unless a partition names another; null of an empty list.
  Result<const DataNode*> choose(const DataNode& root) {
    const DataNode* chosen = nullptr;
    bool is_default = false;
    for (const DataNode& entry : root.items) {
      if (entry.kind != Kind::table || !entry.find("topology")) {
        return refuse(entry.where, "an entry that names no topology",
                      "write - topology: NAME, and its tree, block or flat below");
      }
      const DataNode* mark = entry.find("cluster_default");
      const bool marked = mark && is_true(*mark);
      if (!chosen || (marked && !is_default)) chosen = &entry;
      is_default = is_default || marked;
    }
    if (root.items.size() > 1) {
      warnings_.push_back(fmt::format("{}: of {} topologies {} is taken, {}",
                                      at_line(file_, chosen->where.line), root.items.size(),
                                      chosen->find("topology")->text,
                                      is_default ? "the cluster's default" : "the first"));
    }
    return chosen;
  }

  Result<Map> read(const DataNode& entry) {
    const std::string& name = entry.find("topology")->text;
    check_keys(entry, {"topology", "cluster_default", "tree", "block", "flat", "ring", "torus3d"});
    std::vector<const DataNode::Key*> kinds;
    bool any_empty = false;
    for (const DataNode::Key& key : entry.keys) {
      for (const std::string_view kind : {"tree", "block", "flat", "ring", "torus3d"}) {
        const DataNode* value = key.name == kind ? entry.find(kind) : nullptr;
        if (!value) continue;
        // `scontrol show topoconf` of 26.05 names them all, those that it is not of with "{}".
        const bool empty = value->kind == Kind::table && value->keys.empty();
        any_empty = any_empty || empty;
        if (!empty) kinds.push_back(&key);
      }
    }
    if (kinds.empty() && any_empty) return placing_nobody(entry.where, name, "empty");
    if (kinds.empty()) {
      return refuse(entry.where, fmt::format("topology {} has neither tree, block nor flat", name),
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
    if (kinds[0]->name == "flat") return placing_nobody(kinds[0]->where, name, "flat");
    return refuse(kinds[0]->where, fmt::format("topology/{} is not understood", kinds[0]->name),
                  "describe the hosts in a file of lines: HOST /cluster/rack/HOST");
  }

  Map placing_nobody(Position where, const std::string& name, std::string_view how) const {
    Map map;
    map.warnings.push_back(fmt::format("{}: topology {} is {}, it places no host",
                                       at_line(file_, where.line), name, how));
    return map;
  }

  // The list behind a key of a table; every item is a table that has the key `name`.
  Result<const DataNode*> list_of(const DataNode& table, std::string_view key,
                                  std::string_view name) {
    const DataNode* list = table.kind == Kind::table ? table.find(key) : nullptr;
    if (!list || list->kind != Kind::list) {
      return refuse(list ? list->where : table.where, fmt::format("a list of {} is expected", key),
                    std::string(see));
    }
    for (const DataNode& item : list->items) {
      const DataNode* named = item.kind == Kind::table ? item.find(name) : nullptr;
      if (named && named->kind == Kind::text &&
          named->text.find_first_of("[],{}") == std::string::npos) {
        continue;
      }
      return refuse(named ? named->where : item.where,
                    fmt::format("one of {} without the name of one {}", key, name),
                    fmt::format("write {}: NAME", name));
    }
    return list;
  }

  // The hosts or switches that a key names, in one host list or in several.
  Result<std::vector<std::string>> names(const DataNode& table, std::string_view key,
                                         std::size_t& budget) {
    std::vector<std::string> all;
    const DataNode* value = table.find(key);
    if (!value) return all;
    if (value->kind == Kind::table) {
      return refuse(value->where, fmt::format("{} is a host list", key), "as in n[0-3]");
    }
    const std::span<const DataNode> lists =
        value->kind == Kind::list ? std::span(value->items) : std::span(value, 1);
    for (const DataNode& list : lists) {
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
    const auto list = list_of(tree, "switches", "switch");
    if (!list) return std::unexpected(list.error());
    check_keys(tree, {"switches"});
    std::vector<Switch> switches;
    for (const DataNode& item : (*list)->items) {
      check_keys(item, {"switch", "children", "nodes"});
      auto nodes = names(item, "nodes", nodes_left_);
      if (!nodes) return std::unexpected(nodes.error());
      auto children = names(item, "children", links_left_);
      if (!children) return std::unexpected(children.error());
      const std::string& name = item.find("switch")->text;
      if (!nodes->empty() && !children->empty()) {
        children->clear();
        warnings_.push_back(
            fmt::format("{} (switch {}): it has nodes, so its children are ignored, as Slurm does",
                        at_line(file_, item.where.line), name));
      }
      switches.push_back({name, *std::move(nodes), *std::move(children), at(file_, item.where),
                          at_line(file_, item.where.line)});
    }
    return map_of_switches(file_, switches);
  }

  Result<Map> read_blocks(const DataNode& block) {
    const auto list = list_of(block, "blocks", "block");
    if (!list) return std::unexpected(list.error());
    check_keys(block, {"block_sizes", "blocks"});
    std::vector<Block> blocks;
    for (const DataNode& item : (*list)->items) {
      check_keys(item, {"block", "nodes"});
      auto nodes = names(item, "nodes", nodes_left_);
      if (!nodes) return std::unexpected(nodes.error());
      blocks.push_back({item.find("block")->text, *std::move(nodes), at(file_, item.where),
                        at_line(file_, item.where.line)});
    }
    std::vector<std::size_t> sizes;
    Position where = block.where;
    if (const DataNode* value = block.find("block_sizes")) {
      where = value->where;
      auto read = read_sizes(*value);
      if (!read) return std::unexpected(read.error());
      sizes = *std::move(read);
    }
    return map_of_blocks(file_, blocks, groups_of_sizes(blocks, sizes, at(file_, where)),
                         sizes.empty() ? 0 : std::ranges::min(sizes));
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
    return refuse(
        value.where,
        fmt::format("block_sizes is a list of up to {} numbers of at least 1", max_levels),
        "as in block_sizes: [18, 36]");
  }

  const std::string& file_;
  std::vector<std::string> warnings_;
  std::size_t unknown_keys_ = 0;
  std::string first_unknown_key_;
  std::size_t nodes_left_ = hosts::max_hosts;
  std::size_t links_left_ = max_links;
};

}  // namespace

Result<Map> parse_slurm_yaml(std::string_view text, const std::string& file) {
  const auto root = parse_yaml(text, file);
  if (!root) return std::unexpected(root.error());
  return Reader(file).run(*root);
}

Result<Map> parse_yaml_file(std::string_view text, const std::string& file,
                            const std::vector<Member>& members) {
  const auto root = parse_yaml(text, file);
  if (!root) return std::unexpected(root.error());
  if (is_kubernetes(*root)) return map_of_kubernetes(*root, file, members);
  return root->kind == Kind::table ? map_of_plain(*root, file) : Reader(file).run(*root);
}

Result<Map> read_slurm_yaml_file(const std::filesystem::path& path) {
  const auto text = read_file(path, max_yaml_bytes);
  if (!text) return std::unexpected(text.error());
  return parse_slurm_yaml(*text, path.string());
}

bool looks_like_yaml(std::string_view line) {
  return line.starts_with("---") || line.starts_with("%YAML") || line.starts_with("- ");
}

}  // namespace toprun::topology
