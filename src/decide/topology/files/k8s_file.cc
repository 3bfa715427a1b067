#include <algorithm>
#include <array>
#include <functional>

#include "base/net/hostlist.h"
#include "base/process/command.h"
#include "decide/topology/api_server.h"
#include "decide/topology/files/formats.h"
#include "decide/topology/hypernodes.h"
#include "decide/topology/k8s_labels.h"
#include "decide/topology/nest.h"

namespace toprun::topology {
namespace {

using Kind = DataNode::Kind;

constexpr const char* nodes_path = "/api/v1/nodes?limit=500";

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
    return usage(at(file, object.where), "a node has no name, or its name is not valid for a host",
                 "give the output of `kubectl get nodes -o json`");
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
      auto node = TRY(read_node(*object, file));
      contents.nodes.push_back(std::move(node));
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
    TRY(add_contents(root, file, contents));
  }
  if (!contents.nodes.empty() || !contents.hypernodes.empty()) return contents;
  return usage(at(file, documents.front().where),
               "the file contains neither a Node nor a HyperNode",
               "give the output of `kubectl get nodes -o json`");
}

// Pods whose service account may not list nodes, or that have no token for any server.
bool is_usual(std::string_view refusal) {
  constexpr std::array words = {"(Forbidden)",      "(Unauthorized)",
                                "was refused",      "connection refused",
                                "no configuration", "Unable to connect to the server"};
  return std::ranges::any_of(words, [&](const char* one) { return refusal.contains(one); });
}

// As a part of an address (RFC 3986): what a server gives for the next page is URL-safe base64.
bool is_token(std::string_view text) {
  constexpr std::string_view others = "-_=.~%";
  return std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           others.contains(c);
  });
}

using AskPage = std::function<Result<std::string>(const std::string& path)>;

// The nodes in pages, until those of all members are found, or there are no more. `source`: for
// messages.
Result<std::vector<LabelledNode>> read_pages(const AskPage& ask, const std::string& source,
                                             const std::vector<Member>& members) {
  constexpr int most_pages = 1'000;
  std::vector<LabelledNode> nodes;
  std::string token;
  for (int page = 0; page < most_pages; ++page) {
    const auto text = TRY(ask(token.empty() ? nodes_path : nodes_path + ("&continue=" + token)));
    const auto root = TRY(parse_json(text, source));
    for (const DataNode* object : objects_in(root)) {
      auto node = TRY(read_node(*object, source));
      nodes.push_back(std::move(node));
    }
    const bool are_all_found =
        !members.empty() && nodes_of(nodes, members).size() == members.size();
    token = text_or_empty(value_at(&root, {"metadata", "continue"}));
    if (token.empty() || are_all_found) return nodes;
    if (!is_token(token)) return fail(source, "the answer has an invalid token for the next page");
  }
  return fail(source, fmt::format("more than {} pages", most_pages));
}

Result<std::vector<LabelledNode>> read_nodes_by_kubectl(const Request& request) {
  const AskPage ask = [&](const std::string& path) {
    return process::output_of({"kubectl", "get", "--raw", path}, request.environment,
                              request.budget);
  };
  return read_pages(ask, "kubectl get --raw " + std::string(nodes_path), request.members);
}

// Only the nodes' metadata, which kubectl cannot ask for.
Result<std::vector<LabelledNode>> read_nodes_by_api(const Request& request, PodAccess access) {
  constexpr std::string_view metadata =
      "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
  ApiServer server(std::move(access), std::chrono::steady_clock::now() + request.budget);
  const AskPage ask = [&](const std::string& path) { return server.get(path, metadata); };
  return read_pages(ask, server.what("/api/v1/nodes"), request.members);
}

Result<std::vector<LabelledNode>> read_cluster_nodes(const Request& request) {
  if (process::find_program("kubectl", request.environment)) return read_nodes_by_kubectl(request);
  if (auto access = pod_access(request.environment)) {
    return read_nodes_by_api(request, *std::move(access));
  }
  return fail("cannot read the nodes' labels",
              fmt::format("there is no kubectl in PATH, and no token in {}", service_account),
              "install kubectl, or run in a pod whose service account may list nodes");
}

}  // namespace

bool is_kubernetes(const DataNode& root) {
  return root.kind == Kind::table && root.find("apiVersion") && root.find("kind");
}

Result<Map> map_of_kubernetes(std::span<const DataNode> documents, const std::string& file,
                              const std::vector<Member>& members) {
  auto contents = TRY(read_contents(documents, file));
  auto hypernodes = contents.hypernodes.empty()
                        ? Result<Map>()
                        : map_of_hypernodes(contents.hypernodes, contents.nodes, file, members);
  if (!hypernodes) return hypernodes;
  auto labels = map_of_labels(nodes_of(std::move(contents.nodes), members), file, contents.site);
  if (!labels) return labels;
  if (labels->hosts.empty()) return merge(*std::move(labels), *std::move(hypernodes));
  return nest(*std::move(hypernodes), *std::move(labels));
}

bool can_ask_cluster(const Request& request) {
  return request.environment.non_empty("KUBERNETES_SERVICE_HOST") &&
         (process::find_program("kubectl", request.environment) || pod_access(request.environment));
}

Result<std::optional<Map>> read_cluster(const Request& request) {
  auto nodes = read_cluster_nodes(request);
  if (!nodes && request.topology == "auto" && is_usual(nodes.error()->why)) {
    Map nothing;
    nothing.notes.push_back(nodes.error().line());
    return nothing;
  }
  if (!nodes) return std::unexpected(nodes.error());
  auto map = TRY(map_of_labels(nodes_of(*std::move(nodes), request.members), "k8s"));
  if (map.hosts.empty()) return std::nullopt;
  return std::move(map);
}

}  // namespace toprun::topology
