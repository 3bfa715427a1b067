#include "engines/kubernetes/pod_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engines/kubernetes/manifest.h"

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

Json strings_of(const std::vector<std::pair<std::string, std::string>>& pairs) {
  Json out = Json::object();
  for (const auto& [key, value] : pairs) out[key] = value;
  return out;
}

constexpr std::string_view copied_toprun = "/toprun.io/toprun";

std::string volume_name(std::size_t number) {
  return fmt::format("claim-{}", number);
}

// A container that runs before the others copies the binary out of its image.
void bring_toprun(Json& spec, const Workload& job) {
  const std::string copy = fmt::format("exec cp \"$(command -v toprun)\" {}", copied_toprun);
  Json mount = {{"name", toprun_volume}, {"mountPath", toprun_folder}};
  Json container = {{"name", "toprun"},
                    {"image", job.toprun_image},
                    {"command", {"sh", "-c", unexpanded(copy)}},
                    {"volumeMounts", Json::array({std::move(mount)})}};
  if (Json security = security_of(job); !security.is_null()) {
    container["securityContext"] = std::move(security);
  }
  spec["initContainers"] = Json::array({std::move(container)});
  spec["volumes"].push_back({{"name", toprun_volume}, {"emptyDir", Json::object()}});
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

std::string unexpanded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '$') out += c;
  }
  return out;
}

Json metadata_of(const Workload& job) {
  Json out;
  if (job.name_is_beginning) {
    out["generateName"] = job.name + '-';
  } else {
    out["name"] = job.name;
  }
  if (!job.space.empty()) out["namespace"] = job.space;
  out["labels"] = strings_of(job.labels);
  out["labels"]["app.kubernetes.io/managed-by"] = "toprun";
  out["labels"].update(labels_of_job(job));
  return out;
}

Json metadata_of_pods(const Workload& job) {
  Json out;
  if (Json labels = labels_of_pods(job); !labels.empty()) out["labels"] = std::move(labels);
  if (Json notes = annotations_of_pods(job); !notes.empty()) out["annotations"] = std::move(notes);
  return out;
}

Json variables_of(const Workload& job) {
  Json out = Json::array();
  for (const auto& [name, value] : job.variables) {
    out.push_back({{"name", name}, {"value", unexpanded(value)}});
  }
  for (const SecretVariable& one : job.secret_variables) {
    const std::string& secret = one.secret.empty() ? job.own_secret : one.secret;
    Json key = {{"secretKeyRef", {{"name", secret}, {"key", one.key}}}};
    out.push_back({{"name", one.name}, {"valueFrom", std::move(key)}});
  }
  const auto is_node_name = [](const auto& one) { return one.first == "NODE_NAME"; };
  if (job.nodes > 1 && std::ranges::none_of(job.variables, is_node_name)) {
    Json field = {{"fieldRef", {{"fieldPath", "spec.nodeName"}}}};
    out.push_back({{"name", "NODE_NAME"}, {"valueFrom", std::move(field)}});
  }
  return out;
}

Json command_of(const Workload& job, std::string_view toprun) {
  Json out = Json::array();
  for (const std::string& word : job.command) out.push_back(unexpanded(word));
  const bool is_toprun = !job.command.empty() && job.command.front() == "toprun";
  if (is_toprun && !job.toprun_image.empty()) out.front() = toprun;
  return out;
}

Json resources_of(const Workload& job) {
  Json limits = Json::object();
  if (job.cpus) limits["cpu"] = fmt::to_string(*job.cpus);
  if (job.memory) limits["memory"] = *job.memory;
  if (job.gpus > 0) limits[job.gpu_resource] = fmt::to_string(job.gpus);
  for (const auto& [name, count] : job.resources) limits[name] = fmt::to_string(count);
  return limits.empty() ? Json::object() : Json{{"limits", std::move(limits)}};
}

Json volumes_of(const Workload& job) {
  Json out = Json::array();
  Json memory = {{"medium", "Memory"}};
  if (job.shared_memory) memory["sizeLimit"] = *job.shared_memory;
  out.push_back({{"name", "shared-memory"}, {"emptyDir", std::move(memory)}});
  for (std::size_t i = 0; i < job.claims.size(); ++i) {
    Json claim = {{"claimName", job.claims[i].name}};
    if (job.claims[i].read_only) claim["readOnly"] = true;
    out.push_back({{"name", volume_name(i)}, {"persistentVolumeClaim", std::move(claim)}});
  }
  return out;
}

Json mounts_of(const Workload& job) {
  Json out = Json::array();
  out.push_back({{"name", "shared-memory"}, {"mountPath", shared_memory_folder}});
  for (std::size_t i = 0; i < job.claims.size(); ++i) {
    Json mount = {{"name", volume_name(i)}, {"mountPath", job.claims[i].path}};
    if (job.claims[i].read_only) mount["readOnly"] = true;
    out.push_back(std::move(mount));
  }
  if (!job.toprun_image.empty()) {
    out.push_back({{"name", toprun_volume}, {"mountPath", toprun_folder}, {"readOnly", true}});
  }
  return out;
}

Json security_of(const Workload& job) {
  Json out;
  if (job.run_as) out["runAsUser"] = job.run_as->user;
  if (job.run_as && job.run_as->group) out["runAsGroup"] = *job.run_as->group;
  if (job.restricted) {
    out["runAsNonRoot"] = true;
    out["allowPrivilegeEscalation"] = false;
    out["capabilities"]["drop"] = Json::array({"ALL"});
    out["seccompProfile"]["type"] = "RuntimeDefault";
  }
  if (job.locks_memory) out["capabilities"]["add"] = Json::array({"IPC_LOCK"});
  return out;
}

void choose_account(Json& pod_spec, const Workload& job) {
  if (!job.service_account.empty()) pod_spec["serviceAccountName"] = job.service_account;
  for (const std::string& secret : job.pull_secrets) {
    pod_spec["imagePullSecrets"].push_back({{"name", secret}});
  }
}

Json pod_template(const Workload& job, std::string_view container) {
  Json main = {
      {"name", container}, {"image", job.image}, {"command", command_of(job, copied_toprun)}};
  if (!job.folder.empty()) main["workingDir"] = job.folder;
  if (Json variables = variables_of(job); !variables.empty()) main["env"] = std::move(variables);
  for (const std::string& secret : job.env_from) {
    main["envFrom"].push_back({{"secretRef", {{"name", secret}}}});
  }
  if (Json resources = resources_of(job); !resources.empty()) {
    main["resources"] = std::move(resources);
  }
  if (Json security = security_of(job); !security.is_null()) {
    main["securityContext"] = std::move(security);
  }
  main["volumeMounts"] = mounts_of(job);
  Json out;
  if (Json metadata = metadata_of_pods(job); !metadata.is_null()) {
    out["metadata"] = std::move(metadata);
  }
  Json& spec = out["spec"];
  choose_scheduler(spec, job);
  choose_nodes(spec, job);
  choose_account(spec, job);
  if (job.host_network) {
    spec["hostNetwork"] = true;
    spec["dnsPolicy"] = "ClusterFirstWithHostNet";  // else the cluster's names do not resolve
  }
  spec["containers"] = Json::array({std::move(main)});
  spec["volumes"] = volumes_of(job);
  if (!job.toprun_image.empty()) bring_toprun(spec, job);
  return out;
}

}  // namespace toprun::engines::kubernetes
