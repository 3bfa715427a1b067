#include "engines/kubernetes/machines.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/process/command.h"
#include "base/text/text.h"
#include "engines/kubernetes/api.h"
#include "engines/kubernetes/json_object.h"
#include "engines/kubernetes/kubectl.h"
#include "engines/kubernetes/kubernetes_jobs.h"

namespace toprun::engines::kubernetes {
namespace {

using nlohmann::json;

// Run:AI's, Google's, Amazon's, Azure's and Karpenter's names of a node's pool.
constexpr std::array<std::string_view, 6> pool_labels = {"runai/node-pool",
                                                         "cloud.google.com/gke-nodepool",
                                                         "eks.amazonaws.com/nodegroup",
                                                         "kubernetes.azure.com/agentpool",
                                                         "agentpool",
                                                         "karpenter.sh/nodepool"};

// GPU feature discovery's, Google's and AMD's names of a node's GPUs.
constexpr std::array<std::string_view, 3> gpu_labels = {
    "nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "amd.com/gpu.product-name"};

// The resources of the vendors' device plugins. MIG's instances have one per profile.
constexpr std::array<std::string_view, 5> gpu_resources = {
    "nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi", "gpu.intel.com/i915", "gpu.intel.com/xe"};
constexpr std::string_view mig_resources = "nvidia.com/mig-";

bool is_gpu_resource(std::string_view name) {
  return std::ranges::find(gpu_resources, name) != gpu_resources.end() ||
         name.starts_with(mig_resources);
}

std::string first_label_value(const json& node, std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    std::string value = text_at(node, {"metadata", "labels", name});
    if (!value.empty()) return value;
  }
  return {};
}

// Quantities of devices are whole numbers, as texts.
std::int64_t devices_at(const json& value, std::initializer_list<std::string_view> path) {
  return std::max<std::int64_t>(0, parse_int(text_at(value, path)).value_or(0));
}

void set_gpus(ClusterNode& node, const json& object) {
  const json& allocatable = at(object, {"status", "allocatable"});
  if (!allocatable.is_object()) return;
  for (const auto& [name, quantity] : allocatable.items()) {
    if (!is_gpu_resource(name)) continue;
    const std::int64_t count = devices_at(allocatable, {name});
    if (count <= node.gpus) continue;
    node.gpus = count;
    node.gpu_resource = name;
  }
  if (node.gpus > 0) node.gpu_kind = first_label_value(object, gpu_labels);
}

// Pods that ask for a node's GPUs tolerate the taint of that name, and what is wrong with a node
// stands in its conditions (kubernetes, plugin/pkg/admission/extendedresourcetoleration).
std::string taint_of(const json& node) {
  for (const json& taint : at(node, {"spec", "taints"})) {
    const std::string key = text_at(taint, {"key"});
    if (text_at(taint, {"effect"}) == "PreferNoSchedule" || is_gpu_resource(key)) continue;
    if (key.starts_with("node.kubernetes.io/")) continue;
    const std::string value = text_at(taint, {"value"});
    return value.empty() ? key : key + "=" + value;
  }
  return {};
}

bool is_ready(const json& node) {
  const json& conditions = at(node, {"status", "conditions"});
  return conditions.is_array() && std::ranges::any_of(conditions, [](const json& one) {
           return text_at(one, {"type"}) == "Ready" && text_at(one, {"status"}) == "True";
         });
}

std::string state_of(const json& node) {
  if (!is_ready(node)) return "not ready";
  const json& cordoned = at(node, {"spec", "unschedulable"});
  if (cordoned.is_boolean() && cordoned.get<bool>()) return "cordoned";
  const std::string taint = taint_of(node);
  return taint.empty() ? "ready" : "tainted " + taint;
}

ClusterNode node_of(const json& object) {
  ClusterNode node;
  node.name = text_at(object, {"metadata", "name"});
  node.partitions = {first_label_value(object, pool_labels)};
  node.cpus = whole_cpus(text_at(object, {"status", "allocatable", "cpu"}));
  node.state = state_of(object);
  node.usable = node.idle = node.state == "ready";
  set_gpus(node, object);
  return node;
}

// A DaemonSet's pods and those of kubelet's own files are on every node; kube-system's belong to
// the cluster.
bool is_of_the_cluster(const json& pod) {
  if (text_at(pod, {"metadata", "namespace"}) == "kube-system") return true;
  const json& owners = at(pod, {"metadata", "ownerReferences"});
  return owners.is_array() && std::ranges::any_of(owners, [](const json& owner) {
           const std::string kind = text_at(owner, {"kind"});
           return kind == "DaemonSet" || kind == "Node";
         });
}

bool is_over(const json& pod) {
  const std::string phase = text_at(pod, {"status", "phase"});
  return phase == "Succeeded" || phase == "Failed";
}

PodUse use_of(const json& pod) {
  PodUse use{text_at(pod, {"spec", "nodeName"}), is_of_the_cluster(pod), {}};
  std::map<std::string, std::int64_t> gpus;
  for (const json& container : at(pod, {"spec", "containers"})) {
    const json& limits = at(container, {"resources", "limits"});
    if (!limits.is_object()) continue;
    for (const auto& [name, quantity] : limits.items()) {
      if (is_gpu_resource(name)) gpus[name] += devices_at(limits, {name});
    }
  }
  use.gpus.assign(gpus.begin(), gpus.end());
  return use;
}

std::int64_t gpus_of(const PodUse& use, std::string_view resource) {
  const auto found =
      std::ranges::find_if(use.gpus, [&](const auto& one) { return one.first == resource; });
  return found == use.gpus.end() ? 0 : found->second;
}

// The answer, but for a line in `trouble`.
template <class T>
std::optional<T> noted(Result<T> answer, std::vector<std::string>& trouble) {
  if (answer) return *std::move(answer);
  trouble.push_back(answer.error().line());
  return std::nullopt;
}

Result<std::string> kinds_that_are_there(const Environment& environment,
                                         std::chrono::milliseconds limit) {
  auto answer = TRY(process::run({"kubectl", "api-resources", "-o", "name"}, environment, limit));
  if (answer.code == 0) return std::move(answer.out);
  return std::unexpected(refusal("kubectl api-resources", answer.err));
}

}  // namespace

std::int64_t whole_cpus(std::string_view quantity) {
  constexpr std::int64_t milli = 1'000;
  const bool in_milli = quantity.ends_with('m');
  if (in_milli) quantity.remove_suffix(1);
  const std::int64_t number = std::max<std::int64_t>(0, parse_int(quantity).value_or(0));
  return in_milli ? number / milli : number;
}

std::vector<ClusterNode> nodes_in(const json& list) {
  std::vector<ClusterNode> nodes;
  for (const json* object : items_of(list)) nodes.push_back(node_of(*object));
  return nodes;
}

std::vector<PodUse> uses_in(const json& list) {
  std::vector<PodUse> uses;
  for (const json* pod : items_of(list)) {
    if (!is_over(*pod)) uses.push_back(use_of(*pod));
  }
  return uses;
}

void add_usage(std::vector<ClusterNode>& nodes, std::span<const PodUse> uses) {
  std::map<std::string_view, ClusterNode*> by_name;
  for (ClusterNode& node : nodes) by_name[node.name] = &node;
  for (const PodUse& use : uses) {
    const auto found = by_name.find(use.node);
    if (found == by_name.end()) continue;
    ClusterNode& node = *found->second;
    const std::int64_t gpus = gpus_of(use, node.gpu_resource);
    node.used_gpus = std::min(node.gpus, node.used_gpus + gpus);
    if (node.gpus > 0 ? gpus > 0 : !use.is_of_the_cluster) node.idle = false;
  }
}

std::vector<Partition> pools_of(const std::vector<ClusterNode>& nodes) {
  std::map<std::string, std::map<std::string, int>> others;  // by pool: nodes by state
  for (const ClusterNode& node : nodes) {
    auto& states = others[node.partitions.front()];
    if (!node.usable) ++states[node.state];
  }
  std::vector<Partition> pools;
  for (const auto& [name, states] : others) {
    Partition pool;
    pool.name = name;
    pool.state = "UP";
    std::vector<std::string> notes;
    for (const auto& [state, count] : states) {
      notes.push_back(fmt::format("{} {}", counted(count, "node"), state));
    }
    pool.notes = join(notes, "; ");
    pools.push_back(std::move(pool));
  }
  return pools;
}

std::vector<AdmissionQueue> queues_in(const json& list) {
  std::vector<AdmissionQueue> queues;
  for (const json* object : items_of(list)) {
    queues.push_back({text_at(*object, {"metadata", "name"}),
                      text_at(*object, {"spec", "clusterQueue"}),
                      number_at(*object, {"status", "pendingWorkloads"}),
                      number_at(*object, {"status", "admittedWorkloads"})});
  }
  return queues;
}

std::vector<std::string> parse_operators(std::string_view text) {
  const auto lines = split(text, '\n');
  std::vector<std::string> operators;
  for (const Kind& kind : kinds) {
    if (std::ranges::find(lines, kind.resource) == lines.end()) continue;
    operators.push_back(lower(kind.word));
  }
  return operators;
}

std::vector<ClaimChoice> claims_in(const json& list) {
  std::vector<ClaimChoice> claims;
  for (const json* object : items_of(list)) {
    ClaimChoice claim{text_at(*object, {"metadata", "name"}),
                      text_at(*object, {"status", "capacity", "storage"})};
    for (const json& mode : at(*object, {"spec", "accessModes"})) {
      if (mode == "ReadWriteMany" || mode == "ReadOnlyMany") claim.is_shared = true;
    }
    if (!claim.name.empty()) claims.push_back(std::move(claim));
  }
  return claims;
}

PodChoices ask_pod_choices(const Environment& environment, std::vector<std::string>& trouble) {
  PodChoices choices;
  const auto limit = engine_timeout_of(environment);
  if (!limit) return choices;  // a Queue that could be made has it right
  const Api api(environment, *limit);
  choices.space = noted(api.space(), trouble).value_or("");
  if (const auto names = noted(kinds_that_are_there(environment, *limit), trouble)) {
    choices.operators = parse_operators(*names);
  }
  const auto take = [&](const json& page, bool is_first) {
    if (is_first) choices.claims.clear();
    std::ranges::move(claims_in(page), std::back_inserter(choices.claims));
    return true;
  };
  const auto reported =
      noted(api.list(claims_resource, Api::Scope::own_namespace, {}, take), trouble);
  if (reported && reported->is_forbidden()) trouble.push_back(reported->refusal.line());
  // A job of several pods can mount these.
  std::ranges::stable_partition(choices.claims, &ClaimChoice::is_shared);
  return choices;
}

}  // namespace toprun::engines::kubernetes
