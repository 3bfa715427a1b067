#pragma once

#include <nlohmann/json.hpp>

#include "engines/kubernetes/workload.h"

namespace toprun::engines::kubernetes {

using Json = nlohmann::ordered_json;

// Functions that express a Placement in the format of the component that places the pods. The
// formats were verified in these sources:
//   Kueue     pkg/controller/constants/constants.go (queue-name; priority-class, a
//             WorkloadPriorityClass) and apis/kueue/v1beta1/topology_types.go (podset-*)
//   Volcano   training-operator 1.9 pkg/controller.v1/common/job.go (PyTorchJobs, if the operator
//             runs with --gang-scheduler-name=volcano); volcano pkg/controllers/podgroup/
//             pg_controller_handler.go (other pods: min-member is read from the Job)
//   KAI       pkg/common/constants/constants.go; podgrouper/plugins/defaultgrouper (queue from
//   labels
//             on the job or its pods, priority from a label or the pods' class)
//   Run:AI    the scheduler's page on third-party workloads: runai-scheduler, runai/queue
//   pools     labels of GKE, EKS, AKS and Karpenter; a node has only one of these labels
// To place all pods in one rack or NVLink domain, Kueue gets annotations. The others get pod
// affinity, which is also what Run:AI's own --required-pod-topology-key produces. Volcano's
// networkTopology needs a tier of HyperNodes, and KAI's topology needs the name of a Topology
// object. A label key provides neither.

// Labels and annotations for placement, in addition to those of the workload.
Json labels_of_job(const Workload& job);
Json labels_of_pods(const Workload& job);
Json annotations_of_pods(const Workload& job);
// Annotations of a Job from which Volcano reads settings for the Job's pods.
Json annotations_of_volcanos_job(const Workload& job);

// Sets nodeSelector, tolerations and affinity in a pod's spec.
void choose_nodes(Json& pod_spec, const Workload& job);
// Sets schedulerName and priorityClassName in a pod's spec.
void choose_scheduler(Json& pod_spec, const Workload& job);

// {queue, minAvailable, priorityClass} for a PyTorchJob. Empty: the job does not use Volcano.
Json scheduling_policy(const Workload& job);

// Whether the pods need the label with the value `Workload::mark`, by which affinity finds them.
bool needs_mark(const Placement& placement);

// "kai-scheduler"; empty: the cluster's default scheduler.
std::string_view scheduler_name(Placer placer);

}  // namespace toprun::engines::kubernetes
