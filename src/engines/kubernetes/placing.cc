#include "engines/kubernetes/placing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace toprun::engines::kubernetes {
namespace {

struct Words {
  Placer placer;
  std::string_view scheduler;
  std::string_view queue_label;  // of the job
  std::string_view pool_label;   // of the pods
};
constexpr std::array placer_words = {
    Words{Placer::cluster, "", "", ""},
    Words{Placer::kueue, "", "kueue.x-k8s.io/queue-name", ""},
    Words{Placer::volcano, "volcano", "", ""},
    Words{Placer::kai, "kai-scheduler", "kai.scheduler/queue", "kai.scheduler/node-pool"},
    Words{Placer::runai, "runai-scheduler", "runai/queue", "runai/node-pool"},
};

constexpr std::array affinity_labels = {"cloud.google.com/gke-nodepool",
                                        "eks.amazonaws.com/nodegroup",
                                        "kubernetes.azure.com/agentpool", "karpenter.sh/nodepool"};
constexpr std::string_view mark_label = "toprun.io/job";
constexpr int whole_weight = 100;  // of a preference, the most there is

const Words& words_of(Placer placer) {
  return *std::ranges::find(placer_words, placer, &Words::placer);
}

void add(Json& out, std::string_view key, const std::string& value) {
  if (!key.empty() && !value.empty()) out[std::string(key)] = value;
}

void add_pool_label(Json& out, const Placement& placement) {
  const std::string_view label = words_of(placement.placer).pool_label;
  if (!placement.pools.empty()) add(out, label, placement.pools.front());
}

const std::string& mark_of(const Workload& job) {
  return job.mark.empty() ? job.name : job.mark;
}

// The terms are alternatives: a node has the label of one vendor.
Json pool_affinity(const std::vector<std::string>& pools) {
  Json terms = Json::array();
  for (const char* label : affinity_labels) {
    Json one = {{"key", label}, {"operator", "In"}, {"values", pools}};
    terms.push_back({{"matchExpressions", Json::array({std::move(one)})}});
  }
  return {{"requiredDuringSchedulingIgnoredDuringExecution",
           {{"nodeSelectorTerms", std::move(terms)}}}};
}

// The first pod may go anywhere: kube-scheduler lets a pod pass that matches its own term where no
// other pod does.
Json neighbours(const Together& together, const std::string& mark) {
  Json term = {{"labelSelector", {{"matchLabels", {{mark_label, mark}}}}},
               {"topologyKey", together.key}};
  if (together.required) {
    return {{"requiredDuringSchedulingIgnoredDuringExecution", Json::array({std::move(term)})}};
  }
  Json weighted = {{"weight", whole_weight}, {"podAffinityTerm", std::move(term)}};
  return {{"preferredDuringSchedulingIgnoredDuringExecution", Json::array({std::move(weighted)})}};
}

Json toleration_of(const Toleration& toleration) {
  Json out = {{"key", toleration.key}, {"operator", toleration.value ? "Equal" : "Exists"}};
  if (toleration.value) out["value"] = *toleration.value;
  add(out, "effect", toleration.effect);
  return out;
}

}  // namespace

std::string_view scheduler_name(Placer placer) {
  return words_of(placer).scheduler;
}

bool needs_mark(const Placement& placement) {
  return placement.together && placement.placer != Placer::kueue;
}

Json labels_of_job(const Workload& job) {
  const Placement& placement = job.placement;
  Json out = Json::object();
  add(out, words_of(placement.placer).queue_label, placement.queue);
  if (placement.placer == Placer::kueue) {
    add(out, "kueue.x-k8s.io/priority-class", placement.priority_class);
  }
  add_pool_label(out, placement);
  return out;
}

Json labels_of_pods(const Workload& job) {
  const Placement& placement = job.placement;
  Json out = Json::object();
  if (placement.placer != Placer::kueue) {
    add(out, words_of(placement.placer).queue_label, placement.queue);
  }
  add_pool_label(out, placement);
  if (needs_mark(placement)) add(out, mark_label, mark_of(job));
  return out;
}

Json annotations_of_pods(const Workload& job) {
  const Placement& placement = job.placement;
  Json out = Json::object();
  for (const auto& [key, value] : job.annotations) out[key] = value;
  if (placement.placer == Placer::volcano) {
    add(out, "scheduling.volcano.sh/queue-name", placement.queue);
  }
  if (placement.together && placement.placer == Placer::kueue) {
    const std::string_view how = placement.together->required ? "required" : "preferred";
    add(out, fmt::format("kueue.x-k8s.io/podset-{}-topology", how), placement.together->key);
  }
  return out;
}

Json annotations_of_volcanos_job(const Workload& job) {
  if (job.placement.placer != Placer::volcano) return Json::object();
  return {{"scheduling.volcano.sh/group-min-member", fmt::to_string(job.nodes)}};
}

void choose_nodes(Json& pod_spec, const Workload& job) {
  const Placement& placement = job.placement;
  for (const auto& [key, value] : placement.selector) pod_spec["nodeSelector"][key] = value;
  for (const Toleration& one : placement.tolerations) {
    pod_spec["tolerations"].push_back(toleration_of(one));
  }
  if (!placement.pools.empty() && words_of(placement.placer).pool_label.empty()) {
    pod_spec["affinity"]["nodeAffinity"] = pool_affinity(placement.pools);
  }
  if (needs_mark(placement)) {
    pod_spec["affinity"]["podAffinity"] = neighbours(*placement.together, mark_of(job));
  }
}

void choose_scheduler(Json& pod_spec, const Workload& job) {
  const Placement& placement = job.placement;
  add(pod_spec, "schedulerName", std::string(words_of(placement.placer).scheduler));
  if (placement.placer != Placer::kueue) {
    add(pod_spec, "priorityClassName", placement.priority_class);
  }
}

Json scheduling_policy(const Workload& job) {
  if (job.placement.placer != Placer::volcano) return Json::object();
  Json out = {{"minAvailable", job.least_nodes.value_or(job.nodes)}};
  add(out, "queue", job.placement.queue);
  add(out, "priorityClass", job.placement.priority_class);
  return out;
}

}  // namespace toprun::engines::kubernetes
