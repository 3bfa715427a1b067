#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

#include "engines/kubernetes/workload.h"

namespace toprun::engines::kubernetes {

using Json = nlohmann::ordered_json;

// Parts of manifests that all kinds share.

Json metadata_of(const Workload& job);
// {labels, annotations} of the pods; null: the pods have none.
Json metadata_of_pods(const Workload& job);
// [{name, value}]; values from Secrets are references. In a job with several nodes, pods also get
// NODE_NAME, which is needed to find a node's labels.
Json variables_of(const Workload& job);
// The container's command. If the job brings its own toprun binary, `toprun` is the binary's path,
// and a command that runs toprun begins with this path.
Json command_of(const Workload& job, std::string_view toprun);
Json resources_of(const Workload& job);  // {limits}; Kubernetes derives the requests from the
                                         // limits
Json volumes_of(const Workload& job);
Json mounts_of(const Workload& job);
// The container's securityContext, also used for init containers; null: not needed. For restricted
// pods, the securityContext follows Kubernetes' Pod Security Standards.
Json security_of(const Workload& job);
// Sets the service account and the credentials for pulling the image.
void choose_account(Json& pod_spec, const Workload& job);

// The volume in which pods find the toprun binary from a separate image.
inline constexpr std::string_view toprun_volume = "toprun";
inline constexpr std::string_view toprun_folder = "/toprun.io";

// NCCL and PyTorch's data loaders share memory in this folder. Without a volume, the folder has 64
// MiB.
inline constexpr std::string_view shared_memory_folder = "/dev/shm";

// A PodTemplateSpec with one container of this name.
Json pod_template(const Workload& job, std::string_view container);

}  // namespace toprun::engines::kubernetes
