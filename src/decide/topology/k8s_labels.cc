#include "decide/topology/k8s_labels.h"

#include <algorithm>
#include <array>
#include <span>
#include <unordered_map>

#include "base/os/files.h"
#include "base/text/text.h"
#include "decide/topology/cloud/cloud.h"
#include "decide/topology/match.h"
#include "decide/topology/nest.h"

namespace toprun::topology {
namespace {

struct Label {
  std::string_view key;
  std::string_view level;
};

// Labels that form one chain of levels, outermost first.
struct Chain {
  std::string_view source;
  std::span<const Label> labels;
};

// Labels with a number at the end of their names, one label per level of switches.
struct NumberedChain {
  std::string_view source;
  std::string_view prefix;
  int first;        // the smallest number
  bool leaf_first;  // whether `first` is the innermost level
};

constexpr std::array old_topograph = {Label{"network.topology.nvidia.com/core", "core"},
                                      Label{"network.topology.nvidia.com/spine", "spine"},
                                      Label{"network.topology.nvidia.com/leaf", "leaf"}};
constexpr std::array gke = {Label{"cloud.google.com/gce-topology-block", "block"},
                            Label{"cloud.google.com/gce-topology-subblock", "subblock"}};
constexpr std::array old_gke = {Label{"topology.gke.io/cluster", "cluster"},
                                Label{"topology.gke.io/rack", "rack"}};
constexpr std::array oke = {Label{"oci.oraclecloud.com/rdma.hpc_island_id", "hpc-island"},
                            Label{"oci.oraclecloud.com/rdma.network_block_id", "network-block"},
                            Label{"oci.oraclecloud.com/rdma.local_block_id", "local-block"}};
constexpr std::array oke_host = {
    Label{"oci.oraclecloud.com/host.network_block_id", "network-block"},
    Label{"oci.oraclecloud.com/host.rack_id", "rack"}};
constexpr std::array coreweave = {Label{"backend.coreweave.cloud/fabric", "fabric"},
                                  Label{"backend.coreweave.cloud/superpod", "superpod"},
                                  Label{"backend.coreweave.cloud/leafgroup", "leafgroup"}};
constexpr std::array old_coreweave = {Label{"ib.coreweave.cloud/fabric", "fabric"},
                                      Label{"ib.coreweave.cloud/superpod", "superpod"},
                                      Label{"ib.coreweave.cloud/leafgroup", "leafgroup"}};
constexpr std::array coreweave_rack = {Label{"node.coreweave.cloud/rack", "rack"}};
constexpr std::array standard = {Label{"topology.kubernetes.io/region", "region"},
                                 Label{"topology.kubernetes.io/zone", "zone"}};
constexpr std::array old_standard = {Label{"failure-domain.beta.kubernetes.io/region", "region"},
                                     Label{"failure-domain.beta.kubernetes.io/zone", "zone"}};
constexpr std::array accelerator = {Label{"accelerator.topograph.run/domain", nvlink_level},
                                    Label{"accelerator.topograph.run/sub-domain", "sub-domain"}};
constexpr std::array old_accelerator = {
    Label{"network.topology.nvidia.com/accelerator", nvlink_level}};
constexpr std::array gpu_clique = {Label{"nvidia.com/gpu.clique", nvlink_level}};
constexpr std::array oke_fabric = {
    Label{"oci.oraclecloud.com/host.gpu_memory_fabric_id", nvlink_level}};
constexpr std::array coreweave_nvlink = {Label{"ds.coreweave.com/nvlink.domain", nvlink_level}};
// topology.k8s.aws/capacity-block-id is not in the list: reservations of any machine type have it.
constexpr std::array ultraserver = {Label{"topology.k8s.aws/ultraserver-id", nvlink_level}};

constexpr std::array<NumberedChain, 2> numbered_chains = {{
    {"topograph", "fabric.topograph.run/tier-", 0, true},
    {"eks", "topology.k8s.aws/network-node-layer-", 1, false},
}};

constexpr std::array<Chain, 15> chains = {{
    {"topograph", old_topograph},
    {"gke", gke},
    {"gke", old_gke},
    {"oke", oke},
    {"oke", oke_host},
    {"coreweave", coreweave},
    {"coreweave", old_coreweave},
    {"coreweave", coreweave_rack},
    {"topograph", accelerator},
    {"topograph", old_accelerator},
    {"gpu.clique", gpu_clique},
    {"oke", oke_fabric},
    {"coreweave", coreweave_nvlink},
    {"eks", ultraserver},
    {"kubernetes", standard},
}};
constexpr Chain before_1_17 = {"kubernetes", old_standard};  // today's nodes have both

// The level's number in the chain; nullopt: the label does not belong to the chain.
std::optional<std::size_t> number_in(const NumberedChain& chain, std::string_view label) {
  if (!label.starts_with(chain.prefix)) return std::nullopt;
  const auto number = parse_int(label.substr(chain.prefix.size()));
  if (!number || *number < chain.first) return std::nullopt;
  if (*number >= chain.first + static_cast<int>(max_levels)) return std::nullopt;
  return static_cast<std::size_t>(*number - chain.first);
}

bool has_label(const Chain& chain, std::string_view label) {
  return std::ranges::find(chain.labels, label, &Label::key) != chain.labels.end();
}

std::optional<std::string> value_of(const LabelledNode& node, std::string_view key) {
  const auto found = node.labels.find(key);
  if (found == node.labels.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

// Builds the map from the labels of all chains.
class Chains {
 public:
  Chains(const std::vector<LabelledNode>& nodes, std::string source)
      : nodes_(nodes), source_(std::move(source)) {}

  // Returns true if any node has one of these labels.
  bool add(std::string_view source, std::span<const Label> labels) {
    std::vector<Label> used;
    std::ranges::copy_if(labels, std::back_inserter(used), [&](const Label& label) {
      return std::ranges::any_of(nodes_,
                                 [&](const auto& n) { return n.labels.contains(label.key); });
    });
    MapBuilder builder{std::string(source)};
    for (const LabelledNode& node : nodes_) {
      Path path;
      for (const Label& label : used) path.push_back(value_of(node, label.key));
      put(builder, node, std::move(path));
    }
    std::vector<std::string> names;
    for (const Label& label : used) names.emplace_back(label.level);
    join(builder.finish(std::move(names)));
    return !used.empty();
  }

  void add(const NumberedChain& chain) {
    // outermost first or leaf first, depending on the chain
    std::vector<std::vector<Domain>> paths;
    std::size_t depth = 0;
    for (const LabelledNode& node : nodes_) {
      std::vector<Domain> path;
      for (const auto& [key, value] : node.labels) {
        const auto number = number_in(chain, key);
        if (!number || value.empty()) continue;
        path.resize(std::max(path.size(), *number + 1));
        path[*number] = value;
      }
      depth = std::max(depth, path.size());
      paths.push_back(std::move(path));
    }
    MapBuilder builder{std::string(chain.source)};
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (chain.leaf_first) std::ranges::reverse(paths[i]);
      put(builder, nodes_[i], Path(std::move(paths[i])));
    }
    join(builder.finish(switch_level_names(depth)));
  }

  Map finish() {
    map_.source = source_;
    std::unordered_map<std::string_view, const LabelledNode*> by_name;
    for (const LabelledNode& node : nodes_) by_name.emplace(node.name, &node);
    for (Map::Entry& entry : map_.hosts) entry.location.evidence = by_name.at(entry.host)->evidence;
    return std::move(map_);
  }

 private:
  // A node without labels of the chain has an unknown place.
  static void put(MapBuilder& builder, const LabelledNode& node, Path path) {
    if (!path.known()) return;
    // Each node is in the list only once, so this cannot fail.
    (void)builder.add(node.name, {std::move(path), node.evidence, {}}, node.evidence);
  }

  void join(Map chain) {
    if (chain.hosts.empty()) return;
    if (map_.levels.empty()) {
      map_ = std::move(chain);
      return;
    }
    auto nested = nest(map_, std::move(chain));
    if (nested) {
      map_ = *std::move(nested);
      return;
    }
    map_.warnings.push_back(fmt::format("{}: labels: {}: {}; those of {} have precedence", source_,
                                        nested.error()->what, nested.error()->why, map_.source));
  }

  const std::vector<LabelledNode>& nodes_;
  std::string source_;
  Map map_;
};

Result<void> refuse_duplicates(const std::vector<LabelledNode>& nodes) {
  std::unordered_map<std::string_view, const LabelledNode*> seen;
  for (const LabelledNode& node : nodes) {
    const auto [first, is_new] = seen.emplace(node.name, &node);
    if (is_new) continue;
    return usage(
        node.evidence,
        fmt::format("node {} appears twice, first at {}", node.name, first->second->evidence),
        "remove one of the two");
  }
  return {};
}

// Finds assignments of the form "KEY=VALUE" or KEY="VALUE", with any separators around them.
std::vector<std::string_view> assignments(std::string_view text) {
  std::vector<std::string_view> found;
  for (const std::string_view line : split(text, '\n')) {
    for (const std::string_view part : split(line, ',')) {
      if (const std::string_view word = trim(part); !word.empty()) found.push_back(word);
    }
  }
  return found;
}

}  // namespace

bool is_place_label(std::string_view label) {
  return has_label(before_1_17, label) ||
         std::ranges::any_of(chains, [&](const Chain& c) { return has_label(c, label); }) ||
         std::ranges::any_of(numbered_chains, [&](const NumberedChain& c) {
           return number_in(c, label).has_value();
         });
}

Result<Map> map_of_labels(const std::vector<LabelledNode>& nodes, const std::string& source,
                          const std::vector<std::string>& site) {
  TRY(refuse_duplicates(nodes));
  Chains all(nodes, source);
  if (!site.empty()) {
    std::vector<Label> labels;
    for (const std::string_view key : site) labels.push_back({key, key.substr(key.rfind('/') + 1)});
    all.add(source, labels);
    return all.finish();
  }
  for (const NumberedChain& chain : numbered_chains) all.add(chain);
  bool standard_ones = false;
  for (const Chain& chain : chains) standard_ones = all.add(chain.source, chain.labels);
  if (!standard_ones) all.add(before_1_17.source, before_1_17.labels);
  return all.finish();
}

std::vector<LabelledNode> nodes_of(std::vector<LabelledNode> nodes,
                                   const std::vector<Member>& members) {
  if (members.empty()) return nodes;
  std::vector<std::string> requested, names;
  for (const Member& member : members) {
    requested.push_back(member.node.empty() ? member.name : member.node);
  }
  for (const LabelledNode& node : nodes) names.push_back(node.name);
  const Match match = match_hosts(requested, names);
  std::vector<LabelledNode> found;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!match.known[i]) continue;
    found.push_back(nodes[*match.known[i]]);  // two pods may be on one node
    found.back().name = members[i].name;
  }
  return found;
}

std::optional<std::string> injected_labels(const Environment& environment,
                                           const std::filesystem::path& root) {
  auto text = environment.non_empty("TOPRUN_NODE_LABELS");
  if (!text) {
    const std::filesystem::path file =
        environment.non_empty("TOPRUN_NODE_LABELS_FILE").value_or("/etc/podinfo/labels");
    auto content = read_file(root / file.relative_path(), max_injected_labels_bytes);
    if (!content) return std::nullopt;
    text = *std::move(content);
  }
  std::string telling;
  for (const std::string_view word : assignments(*text)) {
    if (is_place_label(word.substr(0, word.find('=')))) telling += std::string(word) + '\n';
  }
  if (telling.empty()) return std::nullopt;
  return telling;
}

Result<Labels> parse_injected_labels(std::string_view text) {
  Labels labels;
  for (const std::string_view word : assignments(text)) {
    const std::size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    std::string_view value = equals == word.npos ? std::string_view() : word.substr(equals + 1);
    if (value.size() >= 2 && value.starts_with('"') && value.ends_with('"')) {
      value = value.substr(1, value.size() - 2);
    }
    // The value of a label contains no character that needs an escape.
    if (equals == word.npos || !is_domain_name(key) || (!value.empty() && !is_domain_name(value)) ||
        value.find_first_of("\"\\") != value.npos) {
      return fail(fmt::format("'{}' is not a label", printable(word.substr(0, 100))), {},
                  "write KEY=VALUE,KEY=VALUE");
    }
    labels.insert_or_assign(std::string(key), std::string(value));
  }
  return labels;
}

Result<std::optional<Map>> read_injected_labels(const Request& request) {
  std::vector<LabelledNode> nodes;
  std::vector<std::string> warnings;
  for (const Member& member : request.members) {
    if (!member.labels) continue;
    auto labels = parse_injected_labels(*member.labels);
    if (!labels) {
      warnings.push_back(fmt::format("the labels of {}'s node are ignored: {}", member.name,
                                     labels.error().line()));
      continue;
    }
    nodes.push_back({member.name, *std::move(labels), "node labels"});
  }
  auto map = TRY(map_of_labels(nodes, "k8s"));
  std::ranges::move(warnings, std::back_inserter(map.warnings));
  if (map.hosts.empty() && map.warnings.empty()) return std::nullopt;
  if (map.hosts.empty()) map.source.clear();
  return std::move(map);
}

}  // namespace toprun::topology
