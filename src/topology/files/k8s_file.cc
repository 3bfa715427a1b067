#include "topology/files/k8s_file.h"

#include <algorithm>
#include <array>

#include "hosts/hostlist.h"
#include "process/command.h"
#include "process/program.h"
#include "topology/hypernodes.h"
#include "topology/k8s_labels.h"
#include "topology/nest.h"

namespace toprun::topology {
namespace {

using Kind = DataNode::Kind;

// The objects in a list, or the document itself if it is one object.
std::vector<const DataNode*> objects_in(const DataNode& root) {
  const DataNode* items = root.find("items");
  if (!items || items->kind != Kind::list) return {&root};
  std::vector<const DataNode*> objects;
  for (const DataNode& item : items->items) objects.push_back(&item);
  return objects;
}

// The items of a typed list may omit their kind.
std::string kind_of(const DataNode& object, const DataNode& root) {
  const std::string own = text_or_empty(object.find("kind"));
  if (!own.empty() || &object == &root) return own;
  const std::string list = text_or_empty(root.find("kind"));
  return list.ends_with("List") ? list.substr(0, list.size() - 4) : list;
}

Result<LabelledNode> read_node(const DataNode& object, const std::string& file) {
  const DataNode* name = value_at(&object, {"metadata", "name"});
  if (!name || name->kind != Kind::text || name->text.empty() ||
      name->text.size() > hosts::max_name_bytes) {
    return usage(at(file, object.where), "a node without a name, or with one that is no host's",
                 "write what `kubectl get nodes -o json` prints");
  }
  LabelledNode node{name->text, {}, at_line(file, name->where.line)};
  const DataNode* labels = value_at(&object, {"metadata", "labels"});
  for (std::size_t i = 0; labels && i < labels->keys.size(); ++i) {
    if (labels->items[i].kind == Kind::text) {
      node.labels.emplace(labels->keys[i].name, labels->items[i].text);
    }
  }
  return node;
}

// The labels in "spec.levels[].nodeLabel", without the label of the node itself.
std::vector<std::string> site_levels(const DataNode& topology) {
  std::vector<std::string> labels;
  const DataNode* levels = value_at(&topology, {"spec", "levels"});
  for (std::size_t i = 0; levels && i < levels->items.size() && i < max_levels; ++i) {
    const std::string label = text_or_empty(levels->items[i].find("nodeLabel"));
    if (!label.empty() && label != "kubernetes.io/hostname") labels.push_back(label);
  }
  return labels;
}

// The content of the documents, by kind.
struct Contents {
  std::vector<LabelledNode> nodes;
  std::vector<const DataNode*> hypernodes;
  std::vector<std::string> site;
};

Result<void> add_contents(const DataNode& root, const std::string& file, Contents& contents) {
  for (const DataNode* object : objects_in(root)) {
    const std::string kind = kind_of(*object, root);
    if (kind == "Node") {
      auto node = read_node(*object, file);
      if (!node) return std::unexpected(node.error());
      contents.nodes.push_back(*std::move(node));
    } else if (kind == "HyperNode") {
      contents.hypernodes.push_back(object);
    } else if (kind == "Topology" && contents.site.empty()) {
      contents.site = site_levels(*object);
    }
  }
  return {};
}

Result<Contents> read_contents(std::span<const DataNode> documents, const std::string& file) {
  Contents contents;
  for (const DataNode& root : documents) {
    if (auto added = add_contents(root, file, contents); !added) {
      return std::unexpected(added.error());
    }
  }
  if (!contents.nodes.empty() || !contents.hypernodes.empty()) return contents;
  return usage(at(file, documents.front().where), "neither a Node nor a HyperNode is in it",
               "write what `kubectl get nodes -o json` prints");
}

// Pods whose service account may not list nodes, or that have no token for any server.
bool is_usual(std::string_view refusal) {
  constexpr std::array words = {"(Forbidden)", "was refused", "connection refused",
                                "Unable to connect to the server", "no configuration"};
  return std::ranges::any_of(words, [&](const char* one) { return refusal.contains(one); });
}

}  // namespace

bool is_kubernetes(const DataNode& root) {
  return root.kind == Kind::table && root.find("apiVersion") && root.find("kind");
}

Result<Map> map_of_kubernetes(std::span<const DataNode> documents, const std::string& file,
                              const std::vector<Member>& members) {
  auto contents = read_contents(documents, file);
  if (!contents) return std::unexpected(contents.error());
  auto hypernodes = contents->hypernodes.empty()
                        ? Result<Map>()
                        : map_of_hypernodes(contents->hypernodes, contents->nodes, file, members);
  if (!hypernodes) return hypernodes;
  auto labels = map_of_labels(nodes_of(std::move(contents->nodes), members), file, contents->site);
  if (!labels) return labels;
  if (labels->hosts.empty()) return merge(*std::move(labels), *std::move(hypernodes));
  return nest(*std::move(hypernodes), *std::move(labels));
}

bool has_kubectl(const Request& request) {
  return request.environment.non_empty("KUBERNETES_SERVICE_HOST") &&
         process::find_program("kubectl", request.environment);
}

Result<std::optional<Map>> read_kubectl(const Request& request) {
  const std::string command = "kubectl get nodes -o json";
  const auto text = process::output_of({"kubectl", "get", "nodes", "-o", "json"},
                                       request.environment, request.budget);
  if (!text && request.topology == "auto" && is_usual(text.error().why)) {
    Map nothing;
    nothing.notes.push_back(text.error().line());
    return nothing;
  }
  if (!text) return std::unexpected(text.error());
  const auto root = parse_json(*text, command);
  if (!root) return std::unexpected(root.error());
  auto map = map_of_kubernetes(std::span(&*root, 1), command, request.members);
  if (!map) return std::unexpected(map.error());
  if (map->hosts.empty()) return std::nullopt;
  map->source = "k8s";
  return *std::move(map);
}

}  // namespace toprun::topology
