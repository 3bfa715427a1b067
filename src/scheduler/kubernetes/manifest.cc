#include "scheduler/kubernetes/manifest.h"

#include <fmt/format.h>

#include "scheduler/kubernetes/pod.h"
#include "scheduler/kubernetes/pod_template.h"

namespace toprun::scheduler::kubernetes {
namespace {

constexpr std::string_view never = "Never";
// The operator makes a pod again whose code is 128 or more, as of one that was killed, evicted or
// deleted; any other code is that of a run that is over.
constexpr std::string_view if_lost = "ExitCode";
constexpr int code_of_sigkill = 137;
constexpr int code_of_sigterm = 143;

// Of pods other than the root's, whose loss ends the run.
std::string_view restart_policy(const Workload& job) {
  return job.restarts > 0 ? if_lost : never;
}

Json replicas(const Workload& job, int count, std::string_view policy) {
  return {{"replicas", count},
          {"restartPolicy", policy},
          {"template", pod_template(job, "pytorch")}};
}

Json run_policy(const Workload& job) {
  // Pods that still run end by themselves, and the logs of those that have ended stay. With a
  // backoffLimit they would not: past it the operator deletes all pods.
  Json out = {{"cleanPodPolicy", "None"}};
  if (job.limit) out["activeDeadlineSeconds"] = job.limit->count();
  return out;
}

// Of a Job with restarts: it makes lost pods again, and any other failure is the run's end.
Json pod_failure_policy() {
  Json disrupted = {{"action", "Ignore"},
                    {"onPodConditions", Json::array({{{"type", "DisruptionTarget"}}})}};
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

// Where pods that have ended stay so, one failure is to count once.
Workload ending_with_one_code(const Workload& job) {
  return with_variable(job, one_code_variable, "1");
}

// What the trainer's runtimes cannot be told by the TrainJob's own fields: pods' volumes, working
// directory and annotations. The stock runtime torch-distributed has a Job and container "node".
Json runtime_patches(const Workload& job) {
  Json container = {{"name", "node"}, {"volumeMounts", mounts_of(job)}};
  Json pods;
  for (const auto& [key, value] : job.annotations) pods["metadata"]["annotations"][key] = value;
  pods["spec"] = {{"containers", Json::array({std::move(container)})},
                  {"volumes", volumes_of(job)}};
  Json replicated = {{"name", "node"}, {"template", {{"spec", {{"template", std::move(pods)}}}}}};
  Json jobs = {{"replicatedJobs", Json::array({std::move(replicated)})}};
  Json patch = {{"manager", "toprun.io/submit"},
                {"trainingRuntimeSpec", {{"template", {{"spec", std::move(jobs)}}}}}};
  return Json::array({std::move(patch)});
}

}  // namespace

Json manifest(Operator which, const Workload& job) {
  switch (which) {
    case Operator::trainjob:
      return trainjob(job);
    case Operator::jobset:
      return jobset(job);
    case Operator::pytorchjob:
      return pytorchjob(job);
  }
  return {};
}

Json pytorchjob(const Workload& told) {
  const Workload job = ending_with_one_code(told);
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

Json trainjob(const Workload& job) {
  Json trainer = {{"image", job.image}, {"numNodes", job.nodes}, {"command", command_of(job)}};
  if (job.workers) trainer["numProcPerNode"] = *job.workers;
  if (!job.variables.empty()) trainer["env"] = variables_of(job);
  if (Json resources = resources_of(job); !resources.empty()) {
    trainer["resourcesPerNode"] = std::move(resources);
  }
  Json spec = {{"runtimeRef", {{"name", "torch-distributed"}}}, {"trainer", std::move(trainer)}};
  if (job.limit) spec["activeDeadlineSeconds"] = job.limit->count();
  spec["runtimePatches"] = runtime_patches(job);
  return {{"apiVersion", "trainer.kubeflow.org/v1alpha1"},
          {"kind", "TrainJob"},
          {"metadata", metadata_of(job)},
          {"spec", std::move(spec)}};
}

Json jobset(const Workload& job) {
  // A JobSet's pods are not told how many they are.
  const Workload counted =
      with_variable(ending_with_one_code(job), "PET_NNODES", fmt::to_string(job.nodes));
  Json pods = pod_template(counted, "node");
  pods["spec"]["restartPolicy"] = never;
  Json indexed = {{"parallelism", job.nodes},
                  {"completions", job.nodes},
                  {"completionMode", "Indexed"},
                  {"backoffLimit", job.restarts}};
  if (job.restarts > 0) indexed["podFailurePolicy"] = pod_failure_policy();
  if (job.limit) indexed["activeDeadlineSeconds"] = job.limit->count();
  indexed["template"] = std::move(pods);
  Json replicated = {
      {"name", "node"}, {"replicas", 1}, {"template", {{"spec", std::move(indexed)}}}};
  Json spec = {{"network", {{"enableDNSHostnames", true}}},
               {"failurePolicy", {{"maxRestarts", 0}}},
               {"replicatedJobs", Json::array({std::move(replicated)})}};
  return {{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
          {"kind", "JobSet"},
          {"metadata", metadata_of(job)},
          {"spec", std::move(spec)}};
}

}  // namespace toprun::scheduler::kubernetes
