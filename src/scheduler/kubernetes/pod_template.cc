#include "scheduler/kubernetes/pod_template.h"

#include <fmt/format.h>

#include "scheduler/kubernetes/manifest.h"

namespace toprun::scheduler::kubernetes {
namespace {

// NCCL's and PyTorch's data loaders share memory there; without a volume a pod has 64 MiB.
constexpr std::string_view shared_memory_folder = "/dev/shm";

Json strings_of(const std::vector<std::pair<std::string, std::string>>& pairs) {
  Json out = Json::object();
  for (const auto& [key, value] : pairs) out[key] = value;
  return out;
}

std::string volume_name(std::size_t number) {
  return fmt::format("claim-{}", number);
}

}  // namespace

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
  return out;
}

Json variables_of(const Workload& job) {
  Json out = Json::array();
  for (const auto& [name, value] : job.variables) {
    out.push_back({{"name", name}, {"value", unexpanded(value)}});
  }
  return out;
}

Json command_of(const Workload& job) {
  Json out = Json::array();
  for (const std::string& word : job.command) out.push_back(unexpanded(word));
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
  out.push_back({{"name", "shared-memory"}, {"emptyDir", {{"medium", "Memory"}}}});
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
  return out;
}

Json pod_template(const Workload& job, std::string_view container) {
  Json main = {{"name", container}, {"image", job.image}, {"command", command_of(job)}};
  if (!job.folder.empty()) main["workingDir"] = job.folder;
  if (!job.variables.empty()) main["env"] = variables_of(job);
  if (Json resources = resources_of(job); !resources.empty()) {
    main["resources"] = std::move(resources);
  }
  main["volumeMounts"] = mounts_of(job);
  Json out;
  if (!job.annotations.empty()) out["metadata"]["annotations"] = strings_of(job.annotations);
  out["spec"] = {{"containers", Json::array({std::move(main)})}, {"volumes", volumes_of(job)}};
  return out;
}

}  // namespace toprun::scheduler::kubernetes
