#include "engines/kubernetes/manifest.h"

#include <fmt/format.h>
#include <sodium/utils.h>

#include <algorithm>

#include "engines/kubernetes/json_object.h"
#include "engines/kubernetes/operators.h"
#include "engines/kubernetes/pod.h"
#include "engines/kubernetes/pod_template.h"

namespace toprun::engines::kubernetes {
namespace {

constexpr std::string_view never = "Never";
// The operator makes a pod again whose code is 128 or more, as of one that was killed, evicted or
// deleted; any other code is that of a run that is over.
constexpr std::string_view if_lost = "ExitCode";
constexpr int code_of_sigkill = 137;
constexpr int code_of_sigterm = 143;

// Of pods other than the root's, whose loss ends the run. An elastic job takes them in without
// restarts of its own, and were they gone for good, the operator would have it failed while it goes
// on.
std::string_view restart_policy(const Workload& job) {
  return job.restarts > 0 || job.least_nodes ? if_lost : never;
}

// Kueue places Master and Workers together only if they are one group (since 0.13).
Json replicas(const Workload& job, int count, std::string_view policy) {
  Json pods = pod_template(job, "pytorch");
  const Placement& placement = job.placement;
  if (placement.placer == Placer::kueue && placement.together && !job.least_nodes &&
      job.nodes > 1) {
    pods["metadata"]["annotations"]["kueue.x-k8s.io/podset-group-name"] = "nodes";
  }
  return {{"replicas", count}, {"restartPolicy", policy}, {"template", std::move(pods)}};
}

Json run_policy(const Workload& job) {
  // Pods that still run end by themselves, and the logs of those that have ended stay. With a
  // backoffLimit they would not: past it the operator deletes all pods.
  Json out = {{"cleanPodPolicy", "None"}};
  if (job.limit) out["activeDeadlineSeconds"] = job.limit->count();
  if (Json policy = scheduling_policy(job); !policy.empty()) {
    out["schedulingPolicy"] = std::move(policy);
  }
  return out;
}

// Of a Job with restarts: it makes lost pods again, and any other failure is the run's end.
Json pod_failure_policy() {
  // Kubernetes takes True for a status that is missing; JobSet's CRD refuses the object.
  Json disrupted = {
      {"action", "Ignore"},
      {"onPodConditions", Json::array({{{"type", "DisruptionTarget"}, {"status", "True"}}})}};
  Json ended = {{"action", "FailJob"},
                {"onExitCodes",
                 {{"containerName", "node"},
                  {"operator", "NotIn"},
                  {"values", Json::array({code_of_sigkill, code_of_sigterm})}}}};
  return {{"rules", Json::array({std::move(disrupted), std::move(ended)})}};
}

Workload with_variable(Workload job, std::string_view name, std::string value) {
  job.variables.emplace_back(name, std::move(value));
  return job;
}

constexpr std::string_view ranks_variable = "PET_NPROC_PER_NODE";

bool has_variable(const Workload& job, std::string_view name) {
  return std::ranges::any_of(job.variables, [&](const auto& one) { return one.first == name; });
}

// Where pods that have ended stay so, one failure is to count once. Of an elastic PyTorchJob each
// pod's code counts, because the operator takes a single pod that has ended with 0 for the job's
// success.
Workload ending_with_one_code(const Workload& job) {
  return with_variable(job, one_code_variable, job.least_nodes ? each_code : "1");
}

// In an image whose files are mounted as they are.
constexpr std::string_view toprun_in_image = "/toprun.io/usr/local/bin/toprun";
constexpr std::string_view stock_runtime = "torch-distributed";

// The pods of a TrainJob's runtime as this job changes them: volumes, placing, annotations. Its CRD
// lets an init container have no image, so toprun is brought by a volume that is one.
Json patched_pods(const Workload& job) {
  Json container = {{"name", "node"}, {"volumeMounts", mounts_of(job)}};
  if (Json security = security_of(job); !security.is_null()) {
    container["securityContext"] = std::move(security);
  }
  Json pods;
  if (Json metadata = metadata_of_pods(job); !metadata.is_null()) {
    pods["metadata"] = std::move(metadata);
  }
  Json& spec = pods["spec"];
  choose_nodes(spec, job);
  choose_account(spec, job);
  spec["containers"] = Json::array({std::move(container)});
  spec["volumes"] = volumes_of(job);
  if (!job.toprun_image.empty()) {
    Json image = {{"reference", job.toprun_image}};
    spec["volumes"].push_back({{"name", toprun_volume}, {"image", std::move(image)}});
  }
  return pods;
}

// What a TrainJob's own fields cannot say. Runtimes for PyTorch have a Job and container "node".
Json runtime_patches(const Workload& job) {
  Json replicated = {{"name", "node"}, {"template", {{"spec", {{"template", patched_pods(job)}}}}}};
  Json jobs = {{"spec", {{"replicatedJobs", Json::array({std::move(replicated)})}}}};
  if (job.placement.placer == Placer::volcano && !job.placement.queue.empty()) {
    jobs["metadata"]["annotations"]["scheduling.volcano.sh/queue-name"] = job.placement.queue;
  }
  Json patch = {{"manager", "toprun.io/submit"},
                {"trainingRuntimeSpec", {{"template", std::move(jobs)}}}};
  return Json::array({std::move(patch)});
}

// The fields that releases before 2.2 have for the same.
Json pod_overrides(const Workload& job, PodChanges changes) {
  Json pods = patched_pods(job);
  Json change = {{"targetJobs", Json::array({{{"name", "node"}}})}};
  if (pods.contains("metadata")) change["metadata"] = pods["metadata"];
  if (changes == PodChanges::template_overrides) {
    change["spec"] = std::move(pods["spec"]);
  } else {
    change.update(pods["spec"]);
  }
  return Json::array({std::move(change)});
}

void change_pods(Json& spec, const Workload& job, PodChanges changes) {
  if (changes == PodChanges::runtime_patches) {
    spec["runtimePatches"] = runtime_patches(job);
  } else {
    const bool of_template = changes == PodChanges::template_overrides;
    spec[of_template ? "podTemplateOverrides" : "podSpecOverrides"] = pod_overrides(job, changes);
  }
}

// An Indexed Job's pods have their machines' names in the host's network; the first one's record in
// the JobSet's service stays.
void name_first_pod(Json& pods) {
  Json& variables = pods["spec"]["containers"][0]["env"];
  Json label = {{"fieldRef", {{"fieldPath", "metadata.labels['jobset.sigs.k8s.io/jobset-name']"}}}};
  variables.push_back({{"name", "JOBSET_NAME"}, {"valueFrom", std::move(label)}});
  variables.push_back(
      {{"name", "MASTER_ADDR"}, {"value", "$(JOBSET_NAME)-node-0-0.$(JOBSET_NAME)"}});
}

constexpr int variant = sodium_base64_VARIANT_ORIGINAL;

std::string base64(std::string_view bytes) {
  std::string text(sodium_base64_encoded_len(bytes.size(), variant), '\0');
  ::sodium_bin2base64(text.data(), text.size(),
                      reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), variant);
  text.pop_back();  // libsodium's final zero
  return text;
}

}  // namespace

Json manifest(Operator which, const Workload& job, PodChanges changes) {
  switch (which) {
    case Operator::trainjob:
      return trainjob(job, changes);
    case Operator::jobset:
      return jobset(job);
    case Operator::pytorchjob:
      return pytorchjob(job);
  }
  return {};
}

Json pytorchjob(const Workload& reported) {
  const Workload job = ending_with_one_code(reported);
  Json spec;
  if (job.workers) spec["nprocPerNode"] = fmt::to_string(*job.workers);
  spec["runPolicy"] = run_policy(job);
  Json pods;
  if (job.least_nodes) {
    spec["elasticPolicy"] = {{"rdzvBackend", "c10d"},
                             {"minReplicas", *job.least_nodes},
                             {"maxReplicas", job.nodes},
                             {"maxRestarts", job.restarts}};
    pods["Worker"] = replicas(job, job.nodes, restart_policy(job));
  } else {
    pods["Master"] = replicas(job, 1, never);
    if (job.nodes > 1) pods["Worker"] = replicas(job, job.nodes - 1, restart_policy(job));
  }
  spec["pytorchReplicaSpecs"] = std::move(pods);
  return {{"apiVersion", "kubeflow.org/v1"},
          {"kind", "PyTorchJob"},
          {"metadata", metadata_of(job)},
          {"spec", std::move(spec)}};
}

Json trainjob(const Workload& job, PodChanges changes) {
  Json trainer = {{"image", job.image}, {"numNodes", job.nodes}};
  const Json words = command_of(job, toprun_in_image);
  const auto middle =
      words.begin() + static_cast<std::ptrdiff_t>(std::min(words.size(), most_command_words));
  trainer["command"] = Json(Json::array_t(words.begin(), middle));
  if (middle != words.end()) trainer["args"] = Json(Json::array_t(middle, words.end()));
  if (job.workers) trainer["numProcPerNode"] = *job.workers;
  if (Json variables = variables_of(job); !variables.empty()) {
    trainer["env"] = std::move(variables);
  }
  if (Json resources = resources_of(job); !resources.empty()) {
    trainer["resourcesPerNode"] = std::move(resources);
  }
  const std::string runtime = job.runtime.empty() ? std::string(stock_runtime) : job.runtime;
  Json reference = {{"name", runtime}};
  if (!job.runtime_kind.empty()) reference["kind"] = job.runtime_kind;
  Json spec = {{"runtimeRef", std::move(reference)}, {"trainer", std::move(trainer)}};
  if (job.limit) spec["activeDeadlineSeconds"] = job.limit->count();
  change_pods(spec, job, changes);
  return {{"apiVersion", "trainer.kubeflow.org/v1alpha1"},
          {"kind", "TrainJob"},
          {"metadata", metadata_of(job)},
          {"spec", std::move(spec)}};
}

Json jobset(const Workload& job) {
  // A JobSet's pods do not know how many they are, nor how many ranks each of them has.
  Workload counted =
      with_variable(ending_with_one_code(job), "PET_NNODES", fmt::to_string(job.nodes));
  if (job.workers && !has_variable(job, ranks_variable)) {
    counted = with_variable(std::move(counted), ranks_variable, fmt::to_string(*job.workers));
  }
  Json pods = pod_template(counted, "node");
  pods["spec"]["restartPolicy"] = never;
  if (job.host_network) name_first_pod(pods);
  Json indexed = {{"parallelism", job.nodes},
                  {"completions", job.nodes},
                  {"completionMode", "Indexed"},
                  {"backoffLimit", job.restarts}};
  if (job.restarts > 0) indexed["podFailurePolicy"] = pod_failure_policy();
  if (job.limit) indexed["activeDeadlineSeconds"] = job.limit->count();
  indexed["template"] = std::move(pods);
  Json jobs;
  if (Json notes = annotations_of_volcanos_job(job); !notes.empty()) {
    jobs["metadata"]["annotations"] = std::move(notes);
  }
  jobs["spec"] = std::move(indexed);
  Json replicated = {{"name", "node"}, {"replicas", 1}, {"template", std::move(jobs)}};
  Json spec = {{"network", {{"enableDNSHostnames", true}}},
               {"failurePolicy", {{"maxRestarts", 0}}},
               {"replicatedJobs", Json::array({std::move(replicated)})}};
  return {{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
          {"kind", "JobSet"},
          {"metadata", metadata_of(job)},
          {"spec", std::move(spec)}};
}

Result<Owner> parse_owner(std::string_view text) {
  const auto object = TRY(parse_object(text));
  Owner owner{text_at(object, {"apiVersion"}), text_at(object, {"kind"}),
              text_at(object, {"metadata", "name"}), text_at(object, {"metadata", "uid"})};
  if (!owner.name.empty() && !owner.uid.empty()) return owner;
  return fail("kubectl create", "kubectl did not print an object with a name and a uid",
              "check with kubectl get pods that kubectl works");
}

nlohmann::ordered_json secret_object(const Workload& job,
                                     const std::map<std::string, std::string>& values,
                                     const Owner* owner) {
  nlohmann::ordered_json metadata = {{"name", job.own_secret}};
  if (!job.space.empty()) metadata["namespace"] = job.space;
  metadata["labels"]["app.kubernetes.io/managed-by"] = "toprun";
  if (owner != nullptr) {
    metadata["ownerReferences"] =
        nlohmann::ordered_json::array({{{"apiVersion", owner->api_version},
                                        {"kind", owner->kind},
                                        {"name", owner->name},
                                        {"uid", owner->uid}}});
  }
  nlohmann::ordered_json data = nlohmann::ordered_json::object();
  for (const auto& [name, value] : values) data[name] = base64(value);
  return {{"apiVersion", "v1"}, {"kind", "Secret"},  {"metadata", std::move(metadata)},
          {"type", "Opaque"},   {"immutable", true}, {"data", std::move(data)}};
}

}  // namespace toprun::engines::kubernetes
