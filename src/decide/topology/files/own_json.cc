#include "decide/topology/files/own_json.h"

#include <algorithm>

#include "base/net/hostlist.h"
#include "base/text/text.h"
#include "decide/topology/physical_host.h"
#include "decide/topology/position.h"

namespace toprun::topology {
namespace {

using Kind = DataNode::Kind;

constexpr std::string_view order_schema = "toprun.topo_order/1";
constexpr std::string_view show_schema = "toprun.topo_show/1";

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
    auto taken = schema == order_schema
                     ? take_nodes(root)
                     : take_domains(root, std::vector<Domain>(levels_.size(), Domain::none()), 0);
    if (taken && schema == show_schema) taken = take_unplaced(root.find("unplaced"));
    if (!taken) return std::unexpected(taken.error());
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

  Result<void> take_unplaced(const DataNode* list) {
    return list ? take_hosts(*list, std::vector<Domain>(levels_.size())) : Result<void>{};
  }

  const std::string& file_;
  MapBuilder builder_;
  std::vector<std::string> levels_;
};

}  // namespace

bool is_own_json(const DataNode& root) {
  return text_or_empty(root.find("schema")).starts_with("toprun.");
}

Result<Map> map_of_own_json(const DataNode& root, const std::string& file) {
  return OwnJsonReader(file).run(root);
}

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

}  // namespace toprun::topology
