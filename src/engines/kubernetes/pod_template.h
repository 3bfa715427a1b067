#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

#include "engines/kubernetes/workload.h"

namespace toprun::engines::kubernetes {

using Json = nlohmann::ordered_json;

// Parts of manifests that the kinds share.

Json metadata_of(const Workload& job);
// {labels, annotations} of the pods; null: they have none.
Json metadata_of_pods(const Workload& job);
// [{name, value}], those of Secrets as references. Pods of several nodes also get NODE_NAME, by
// which a node's labels are found.
Json variables_of(const Workload& job);
// A command that is toprun's begins with the binary's path, `toprun`, if the job brings one.
Json command_of(const Workload& job, std::string_view toprun);
Json resources_of(const Workload& job);  // {limits}: requests follow from them
Json volumes_of(const Workload& job);
Json mounts_of(const Workload& job);
// The container's securityContext, which init containers have too; null: it needs none. One that is
// restricted is so by Kubernetes' Pod Security Standards.
Json security_of(const Workload& job);
// Sets the service account and what the image is pulled with.
void choose_account(Json& pod_spec, const Workload& job);

// Where pods find the toprun of an image of its own.
inline constexpr std::string_view toprun_volume = "toprun";
inline constexpr std::string_view toprun_folder = "/toprun.io";

// NCCL's and PyTorch's data loaders share memory there; without a volume a pod has 64 MiB.
inline constexpr std::string_view shared_memory_folder = "/dev/shm";

// A PodTemplateSpec whose only container has this name.
Json pod_template(const Workload& job, std::string_view container);

}  // namespace toprun::engines::kubernetes
