#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/net/hostlist.h"
#include "base/text/text.h"
#include "decide/topology/files/formats.h"
#include "decide/topology/physical_host.h"
#include "decide/topology/position.h"

namespace toprun::topology {
namespace {

using Kind = DataNode::Kind;

constexpr std::string_view order_schema = "toprun.topo_order/1";
constexpr std::string_view show_schema = "toprun.topo_show/1";

// Reads the output of `toprun topo order --json` and `toprun topo show --json`. Errors: an object
// with another schema, which has no places; a value of a wrong type; a level that is not in
// "levels".
class OwnJsonReader {
 public:
  explicit OwnJsonReader(const std::string& file) : file_(file), builder_(file) {}

  Result<Map> run(const DataNode& root) {
    const std::string schema = text_or_empty(root.find("schema"));
    if (schema != order_schema && schema != show_schema) {
      return refuse(root.where, fmt::format("an object of {} does not say where hosts are", schema),
                    "give the output of `toprun topo show --json`");
    }
    TRY(take_levels(root.find("levels")));
    if (schema == order_schema) {
      TRY(take_nodes(root));
    } else {
      TRY(take_domains(root, std::vector<Domain>(levels_.size(), Domain::none()), 0));
      if (const DataNode* unplaced = root.find("unplaced")) {
        TRY(take_hosts(*unplaced, std::vector<Domain>(levels_.size())));
      }
    }
    return builder_.finish(std::move(levels_));
  }

 private:
  std::unexpected<Error> refuse(Position where, std::string why, std::string fix = {}) const {
    return usage(at(file_, where), std::move(why), std::move(fix));
  }

  Result<void> take_levels(const DataNode* list) {
    if (!list) return {};
    if (list->kind != Kind::list || list->items.size() > max_levels) {
      return refuse(list->where,
                    fmt::format("levels must be a list of at most {} names", max_levels));
    }
    for (const DataNode& item : list->items) levels_.push_back(item.text);
    return {};
  }

  Result<std::size_t> level_named(const DataNode& name) const {
    const auto found = std::ranges::find(levels_, name.text);
    if (found != levels_.end()) return static_cast<std::size_t>(found - levels_.begin());
    return refuse(name.where, fmt::format("there is no level '{}'", name.text),
                  fmt::format("choose one of: {}", fmt::join(levels_, ", ")));
  }

  Result<void> add(const DataNode& name, Path path) {
    if (name.kind != Kind::text || name.text.empty() || name.text.size() > hosts::max_name_bytes) {
      return refuse(name.where, "expected the name of a host");
    }
    return builder_.add(name.text, {std::move(path), at_line(file_, name.where.line), {}}, file_,
                        name.where);
  }

  // Reads {"name", "path": [outer … inner], "has_no": ["spine"], "seat"} of an order.
  Result<void> take_nodes(const DataNode& root) {
    const DataNode* nodes = root.find("nodes");
    if (!nodes || nodes->kind != Kind::list) return refuse(root.where, "nodes must be a list");
    for (const DataNode& node : nodes->items) {
      const DataNode* name = node.find("name");
      const DataNode* list = node.find("path");
      if (!name || !list || list->kind != Kind::list || list->items.size() != levels_.size()) {
        return refuse(node.where,
                      "a node must have a name, and a path with as many entries as levels");
      }
      Path path(levels_.size());
      for (std::size_t level = 0; level < levels_.size(); ++level) {
        const DataNode& domain = list->items[level];
        if (domain.kind == Kind::text) path.set(level, domain.text);
      }
      if (auto marked = mark_missing(node.find("has_no"), path); !marked) return marked;
      if (const auto seat = parse_int(text_or_empty(node.find("seat"))); seat && *seat > 0) {
        path.set_seat(static_cast<std::size_t>(*seat));
      }
      if (auto added = add(*name, std::move(path)); !added) return added;
    }
    return {};
  }

  Result<void> mark_missing(const DataNode* names, Path& path) const {
    for (std::size_t i = 0; names && i < names->items.size(); ++i) {
      const auto level = TRY(level_named(names->items[i]));
      path.set(level, Domain::none());
    }
    return {};
  }

  // Reads {"level", "name", "domains" or "hosts"}. Levels between a domain and the domain around it
  // are missing. `path` is that of the domain around it, whose level is `depth` - 1.
  Result<void> take_domains(const DataNode& around, const std::vector<Domain>& path,
                            std::size_t depth) {
    if (const DataNode* hosts = around.find("hosts")) return take_hosts(*hosts, path);
    const DataNode* domains = around.find("domains");
    if (!domains || domains->kind != Kind::list) return {};
    for (const DataNode& domain : domains->items) {
      const DataNode* level_name = domain.find("level");
      if (!level_name) return refuse(domain.where, "a domain has no level");
      const auto level = TRY(level_named(*level_name));
      if (level < depth) return refuse(level_name->where, "a level is inside itself");
      std::vector<Domain> own = path;
      const DataNode* name = domain.find("name");
      own[level] = name ? Domain(name->text) : Domain();
      // Inside a domain with only hosts, all levels are unknown.
      if (domain.find("hosts")) {
        std::fill(own.begin() + static_cast<std::ptrdiff_t>(level) + 1, own.end(), Domain());
      }
      if (auto taken = take_domains(domain, own, level + 1); !taken) return taken;
    }
    return {};
  }

  Result<void> take_hosts(const DataNode& list, const std::vector<Domain>& domains) {
    const Path path(domains);
    for (const DataNode& host : list.items) {
      if (auto added = add(host, path); !added) return added;
    }
    return {};
  }

  const std::string& file_;
  MapBuilder builder_;
  std::vector<std::string> levels_;
};

// Whether this is DLRover's table of groups, {"HOST": "outer/inner", …}, the output of `toprun topo
// order --format dlrover`.
bool is_group_table(const DataNode& root) {
  return root.kind == Kind::table && !root.items.empty() &&
         std::ranges::all_of(root.items, [](const DataNode& value) {
           return value.kind == Kind::text && value.is_string;
         });
}

Result<Map> map_of_group_table(const DataNode& root, const std::string& file) {
  MapBuilder builder(file);
  std::size_t depth = 0;
  for (std::size_t i = 0; i < root.keys.size(); ++i) {
    const DataNode::Key& key = root.keys[i];
    auto path = parse_domains("/" + root.items[i].text);
    if (!path) return usage(at(file, root.items[i].where), path.error(), "write \"outer/inner\"");
    depth = std::max(depth, path->size());
    TRY(builder.add(key.name, {*std::move(path), at_line(file, key.where.line), {}}, file,
                    key.where));
  }
  return builder.finish(physical_level_names(depth));
}

// The first node that exists, for keys with several spellings.
const DataNode* first_of(std::initializer_list<const DataNode*> nodes) {
  for (const DataNode* node : nodes) {
    if (node) return node;
  }
  return nullptr;
}

// The form of an instance list in one API.
struct Form {
  std::string_view name;
  std::string_view mark;  // a key that exists in every instance
  bool root_first;
  const DataNode* (*host)(const DataNode&);
  const DataNode* (*path)(const DataNode&);
  std::string (*nvlink)(const DataNode&);  // empty: no domain, or unknown
};

std::string graph_nvlink(const DataNode& instance) {
  const DataNode* labels = instance.find("labels");
  return text_or_empty(
      first_of({value_at(labels, {"accelerator.topograph.run/domain"}),
                value_at(labels, {"network.topology.nvidia.com/accelerator"}),
                value_at(labels, {"nvidia.com/gpu.clique"}),
                value_at(&instance, {"attributes", "nvlink"}), instance.find("nvlink_domain")}));
}

std::string lambda_nvlink(const DataNode& instance) {
  const DataNode* nvlink = instance.find("nvlink");
  const std::string domain =
      text_or_empty(first_of({value_at(nvlink, {"domain_id"}), value_at(nvlink, {"domainId"})}));
  const std::string clique =
      text_or_empty(first_of({value_at(nvlink, {"clique_id"}), value_at(nvlink, {"cliqueId"})}));
  return domain.empty() || clique.empty() ? std::string() : domain + "." + clique;
}

const DataNode* nebius_path(const DataNode& instance) {
  const DataNode* status = instance.find("status");
  const DataNode* path = first_of({value_at(status, {"infiniband_topology_path"}),
                                   value_at(status, {"infinibandTopologyPath"})});
  return path && path->kind == Kind::table ? path->find("path") : path;
}

constexpr std::array<Form, 4> forms = {{
    {"topograph's graph", "network_layers", false, [](const DataNode& i) { return i.find("id"); },
     [](const DataNode& i) { return i.find("network_layers"); }, graph_nvlink},
    {"Lambda's", "networkPath", false, [](const DataNode& i) { return i.find("id"); },
     [](const DataNode& i) { return i.find("networkPath"); }, lambda_nvlink},
    {"Nscale's", "network_node_path", true, [](const DataNode& i) { return i.find("instance_id"); },
     [](const DataNode& i) { return i.find("network_node_path"); },
     [](const DataNode& i) { return text_or_empty(i.find("block_id")); }},
    {"Nebius'", "metadata", true,
     [](const DataNode& i) {
       const DataNode* metadata = i.find("metadata");
       return first_of({value_at(metadata, {"name"}), value_at(metadata, {"id"})});
     },
     nebius_path,
     [](const DataNode& i) {
       const DataNode* spec = i.find("spec");
       return text_or_empty(first_of(
           {value_at(spec, {"nvl_instance_group_id"}), value_at(spec, {"nvlInstanceGroupId"})}));
     }},
}};

bool has_key(const DataNode& table, std::string_view key) {
  return std::ranges::find(table.keys, key, &DataNode::Key::name) != table.keys.end();
}

// The instances in an answer; null: none.
const DataNode* instances_of(const DataNode& root) {
  if (root.kind == Kind::list) return &root;
  return first_of(
      {root.find("instances"), root.find("data"), root.find("results"), root.find("items")});
}

const Form* form_of(const DataNode& instances) {
  if (instances.kind != Kind::list || instances.items.empty()) return nullptr;
  const auto found = std::ranges::find_if(
      forms, [&](const Form& form) { return has_key(instances.items[0], form.mark); });
  return found == forms.end() ? nullptr : &*found;
}

class InstanceListReader {
 public:
  InstanceListReader(const std::string& file, const Form& form)
      : file_(file), form_(form), builder_(file) {}

  Result<Map> run(const DataNode& instances) {
    for (const DataNode& instance : instances.items) {
      TRY(take(instance));
    }
    if (depth_ + (any_nvlink_ ? 1 : 0) > max_levels) {
      return usage(file_, fmt::format("a path has more than {} levels", max_levels));
    }
    for (HostEntry& entry : entries_) {
      TRY(add(entry));
    }
    builder_.warn(spanning_, "hosts");
    std::vector<std::string> levels = switch_level_names(depth_);
    if (any_nvlink_) levels.emplace_back("nvlink");
    return builder_.finish(std::move(levels));
  }

 private:
  struct HostEntry {
    Position where;
    std::string host;
    Path network;
    std::string nvlink;
  };

  std::unexpected<Error> refuse(Position where, std::string why) const {
    return usage(at(file_, where), std::move(why),
                 fmt::format("the first instance has {} form", form_.name));
  }

  Result<void> take(const DataNode& instance) {
    if (instance.kind != Kind::table) return refuse(instance.where, "this is not an instance");
    const DataNode* host = form_.host(instance);
    if (!host || host->kind != Kind::text || host->text.empty()) {
      return refuse(instance.where, "an instance has no name");
    }
    if (host->text.size() > hosts::max_name_bytes) {
      return refuse(host->where,
                    fmt::format("a name has more than {} bytes", hosts::max_name_bytes));
    }
    HostEntry entry{host->where, host->text, {}, form_.nvlink(instance)};
    if (const DataNode* path = form_.path(instance)) {
      if (auto taken = take_path(*path, entry.network); !taken) return taken;
    }
    depth_ = std::max(depth_, entry.network.size());
    any_nvlink_ = any_nvlink_ || !entry.nvlink.empty();
    entries_.push_back(std::move(entry));
    return {};
  }

  Result<void> take_path(const DataNode& list, Path& path) const {
    if (list.kind != Kind::list || list.items.size() > max_levels) {
      return refuse(list.where,
                    fmt::format("a path must be a list of at most {} switches", max_levels));
    }
    std::vector<Domain> domains;
    for (const DataNode& item : list.items) {
      const DataNode* id = item.kind == Kind::table ? item.find("id") : &item;
      if (item.kind == Kind::list)
        return refuse(item.where, "a switch must be a name or have an id");
      const std::string name = text_or_empty(id);
      domains.push_back(name.empty() ? std::nullopt : std::optional(name));
    }
    if (!form_.root_first) std::ranges::reverse(domains);
    path = Path(std::move(domains));
    return {};
  }

  Result<void> add(HostEntry& entry) {
    Path path = aligned_at_leaf(std::move(entry.network), depth_);
    if (any_nvlink_) {
      if (!entry.nvlink.empty()) check_against_leaf(entry, path);
      path.push_back(entry.nvlink.empty() ? std::nullopt : std::optional(entry.nvlink));
    }
    return builder_.add(entry.host, {std::move(path), at_line(file_, entry.where.line), {}},
                        at(file_, entry.where));
  }

  // An NVLink domain is a level inside the leaf only if all its hosts are on one leaf.
  void check_against_leaf(const HostEntry& entry, const Path& network) {
    const auto [first, is_new] = network_of_.emplace(entry.nvlink, std::pair(network, entry.host));
    if (is_new || first->second.first == network) return;
    spanning_.add([&] {
      return fmt::format(
          "{}: {} and {} are in the NVLink domain {} but on different switches, so they count as "
          "apart",
          at_line(file_, entry.where.line), first->second.second, entry.host, entry.nvlink);
    });
  }

  const std::string& file_;
  const Form& form_;
  MapBuilder builder_;
  std::vector<HostEntry> entries_;
  std::size_t depth_ = 0;  // number of levels of the longest path
  bool any_nvlink_ = false;
  std::unordered_map<std::string, std::pair<Path, std::string>> network_of_;  // by NVLink domain
  Tally spanning_;
};

std::unexpected<Error> unknown_form(const DataNode& root, const std::string& file) {
  const std::vector<std::string> own = {"hosts", "domains", "levels", "links"};
  for (const auto& key : root.keys) {
    const auto meant = did_you_mean(key.name, own);
    if (!meant || *meant == key.name) continue;
    return usage(at(file, key.where), fmt::format("unknown key '{}'", printable(key.name)),
                 fmt::format("did you mean {}?", *meant));
  }
  std::vector<std::string> known;
  for (const Form& form : forms) known.push_back(fmt::format("{} ({})", form.name, form.mark));
  return usage(
      at(file, root.where), "this JSON has an unknown form",
      fmt::format(
          "the known forms are toprun's own (hosts, domains, levels) and lists of instances: {}",
          fmt::join(known, ", ")));
}

}  // namespace

Result<Map> parse_json_file(std::string_view text, const std::string& file,
                            const std::vector<Member>& members) {
  const auto root = TRY(parse_json(text, file));
  if (is_kubernetes(root)) return map_of_kubernetes(std::span(&root, 1), file, members);
  if (text_or_empty(root.find("schema")).starts_with("toprun.")) {
    return OwnJsonReader(file).run(root);
  }
  if (has_key(root, "hosts") || has_key(root, "domains")) return map_of_plain(root, file);
  const DataNode* instances = instances_of(root);
  const Form* form = instances ? form_of(*instances) : nullptr;
  if (!form && is_group_table(root)) return map_of_group_table(root, file);
  if (!form) return unknown_form(root, file);
  auto map = InstanceListReader(file, *form).run(*instances);
  const bool more = !text_or_empty(first_of({root.find("page_token"), root.find("next_page_token"),
                                             root.find("nextPageToken")}))
                         .empty();
  if (map && more) {
    map->warnings.push_back(fmt::format(
        "{}: the answer has several pages, but this file contains only one page", file));
  }
  return map;
}

}  // namespace toprun::topology
