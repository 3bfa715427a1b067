#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/os/environment.h"
#include "engines/queue.h"

namespace toprun::engines::kubernetes {

// Parsers for the API server's answers about nodes, pods and Kueue's queues; pure functions. Values
// that are missing or of another type stay unset.

// Reads the nodes in a list; their resources count as free until add_usage(). A node's pool comes
// from a label of its cloud or autoscaler. A node is usable if it is Ready, is not cordoned and has
// no taint that repels a training pod.
std::vector<ClusterNode> nodes_in(const nlohmann::json& list);

// The resources that a pod uses on its node. Ended pods use none.
struct PodUse {
  std::string node;
  bool is_of_the_cluster = false;                          // every node runs such a pod, for
                                                           // example a DaemonSet's
  std::vector<std::pair<std::string, std::int64_t>> gpus;  // by resource
};
std::vector<PodUse> uses_in(const nlohmann::json& list);

// Adds the pods' resource use to their nodes. A node with GPUs is idle if no GPU is in use. A node
// without GPUs is idle if it runs only pods of kinds that every node runs, such as a DaemonSet's.
void add_usage(std::vector<ClusterNode>& nodes, std::span<const PodUse> uses);

// Returns the nodes' pools by name, with the reasons why some of their nodes accept no jobs.
std::vector<Partition> pools_of(const std::vector<ClusterNode>& nodes);

// Reads LocalQueues of Kueue (apis/kueue/v1beta1/localqueue_types.go).
std::vector<AdmissionQueue> queues_in(const nlohmann::json& list);

// Returns a CPU quantity as a whole number: "8" is 8, "7910m" is 7. 0 for another form.
std::int64_t whole_cpus(std::string_view quantity);

// A PersistentVolumeClaim that pods of the namespace can mount.
struct ClaimChoice {
  std::string name;
  std::string size;        // "1Ti"
  bool is_shared = false;  // pods on several nodes can mount it
};

// The namespace, operators and claims that a user can choose for a job of pods.
struct PodChoices {
  std::string space;                   // namespace of kubectl's context; empty: "default"
  std::vector<std::string> operators;  // installed operators, as in --operator
  std::vector<ClaimChoice> claims;
};

// Queries kubectl. Fields that kubectl does not report stay empty, and a line in `trouble` says
// why.
PodChoices ask_pod_choices(const Environment& environment, std::vector<std::string>& trouble);

// Parses the output of `kubectl api-resources -o name`: names of kinds, "pytorchjobs.kubeflow.org".
// Pure function.
std::vector<std::string> parse_operators(std::string_view text);

// Reads the PersistentVolumeClaims in a list. Pure function.
std::vector<ClaimChoice> claims_in(const nlohmann::json& list);

}  // namespace toprun::engines::kubernetes
