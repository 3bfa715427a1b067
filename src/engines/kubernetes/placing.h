#pragma once

#include <nlohmann/json.hpp>

#include "engines/kubernetes/workload.h"

namespace toprun::engines::kubernetes {

using Json = nlohmann::ordered_json;

// Writes a Placement in the terms of the component that places the pods. Verified in
//   Kueue     pkg/controller/constants/constants.go (queue-name, priority-class: its
//             WorkloadPriorityClass) and apis/kueue/v1beta1/topology_types.go (podset-*)
//   Volcano   training-operator 1.9 pkg/controller.v1/common/job.go (PyTorchJobs, if the operator
//             runs with --gang-scheduler-name=volcano); volcano pkg/controllers/podgroup/
//             pg_controller_handler.go (pods of others: its min-member is read from their Job)
//   KAI       pkg/common/constants/constants.go; podgrouper/plugins/defaultgrouper (the queue from
//             labels of the job or its pods, the priority from a label or the pods' class)
//   Run:AI    its scheduler's page on third-party workloads: runai-scheduler, runai/queue
//   pools     labels of GKE, EKS, AKS and Karpenter, and a node has one of them
// Nodes of one rack or NVLink domain: Kueue's annotations, and for the others pod affinity, which
// is what Run:AI's own --required-pod-topology-key becomes. Volcano's networkTopology counts tiers
// of its HyperNodes and KAI's names a Topology object; a label's key says neither.

// Labels and annotations for placement, in addition to those of the workload.
Json labels_of_job(const Workload& job);
Json labels_of_pods(const Workload& job);
Json annotations_of_pods(const Workload& job);
// Annotations of a Job from which Volcano reads facts about the Job's pods.
Json annotations_of_volcanos_job(const Workload& job);

// Sets nodeSelector, tolerations and affinity of a pod's spec.
void choose_nodes(Json& pod_spec, const Workload& job);
// Sets schedulerName and priorityClassName.
void choose_scheduler(Json& pod_spec, const Workload& job);

// {queue, minAvailable, priorityClass} of a PyTorchJob; empty: the job does not use Volcano.
Json scheduling_policy(const Workload& job);

// Whether the pods find each other by the label with the value `Workload::mark`.
bool needs_mark(const Placement& placement);

// "kai-scheduler"; empty: the cluster's default scheduler.
std::string_view scheduler_name(Placer placer);

}  // namespace toprun::engines::kubernetes
