#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

#include "engines/kubernetes/workload.h"

namespace toprun::engines::kubernetes {

using Json = nlohmann::ordered_json;

// Functions that write a Placement in the format of the component that places the pods. The formats
// come from these sources:
//   Kueue     pkg/controller/constants/constants.go (queue-name; priority-class, a
//             WorkloadPriorityClass) and apis/kueue/v1beta1/topology_types.go (podset-*)
//   Volcano   training-operator 1.9 pkg/controller.v1/common/job.go (PyTorchJobs, if the operator
//             runs with --gang-scheduler-name=volcano); volcano pkg/controllers/podgroup/
//             pg_controller_handler.go (other pods: min-member is read from the Job)
//   KAI       pkg/common/constants/constants.go; podgrouper/plugins/defaultgrouper (the queue comes
//             from labels on the job or its pods, the priority from a label or the pods' class)
//   Run:AI    the scheduler's page on third-party workloads: runai-scheduler, runai/queue
//   pools     labels of GKE, EKS, AKS and Karpenter; a node has only one of these labels
// To place all pods in one rack or NVLink domain, Kueue gets annotations. For the other components,
// the pods get pod affinity, as with Run:AI's own --required-pod-topology-key. Volcano's
// networkTopology and KAI's topology are not used: they need a tier of HyperNodes or the name of a
// Topology object, and toprun knows only a label key.

// These functions return labels and annotations for placement, in addition to those of the
// workload.
Json labels_of_job(const Workload& job);
Json labels_of_pods(const Workload& job);
Json annotations_of_pods(const Workload& job);
// Annotations of a Job from which Volcano reads settings for the Job's pods.
Json annotations_of_volcanos_job(const Workload& job);

// Sets nodeSelector, tolerations and affinity in a pod's spec.
void choose_nodes(Json& pod_spec, const Workload& job);
// Sets schedulerName and priorityClassName in a pod's spec.
void choose_scheduler(Json& pod_spec, const Workload& job);

// Returns a PyTorchJob's {queue, minAvailable, priorityClass}. Empty: the job does not use Volcano.
Json scheduling_policy(const Workload& job);

// Whether the pods need a label with the value `Workload::mark`, so that affinity finds them.
bool needs_mark(const Placement& placement);

// Returns the scheduler's name, such as "kai-scheduler". Empty: the cluster's default scheduler.
std::string_view scheduler_name(Placer placer);

// Parts of manifests that all kinds share.

Json metadata_of(const Workload& job);
// Returns {labels, annotations} of the pods; null: the pods have none.
Json metadata_of_pods(const Workload& job);
// Returns [{name, value}]; values from Secrets are references. In a job with several nodes, pods
// also get NODE_NAME, which is needed to find a node's labels.
Json variables_of(const Workload& job);
// Returns the container's command. `toprun` is the path in the pod of the toprun binary that the
// job may bring. If the job brings the binary, a command that runs toprun begins with this path.
Json command_of(const Workload& job, std::string_view toprun);
Json resources_of(const Workload& job);  // {limits}; Kubernetes derives the requests from the
                                         // limits
Json volumes_of(const Workload& job);
Json mounts_of(const Workload& job);
// Returns the container's securityContext, also used for init containers; null: not needed. For
// restricted pods, the securityContext follows Kubernetes' Pod Security Standards.
Json security_of(const Workload& job);
// Sets the service account and the credentials for pulling the image.
void choose_account(Json& pod_spec, const Workload& job);

// The volume with the toprun binary, if the binary comes from a separate image.
inline constexpr std::string_view toprun_volume = "toprun";
inline constexpr std::string_view toprun_folder = "/toprun.io";

// NCCL and PyTorch's data loaders share memory in this folder. Without a volume, the folder has 64
// MiB.
inline constexpr std::string_view shared_memory_folder = "/dev/shm";

// Returns a PodTemplateSpec with one container of this name.
Json pod_template(const Workload& job, std::string_view container);

}  // namespace toprun::engines::kubernetes
