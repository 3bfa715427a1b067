#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "engines/queue.h"

namespace toprun::engines::kubernetes {

// What the API server says of nodes, pods and Kueue's queues; pure. What is missing or of another
// type stays unset.

// The nodes in a list, each in the pool that its cloud's or its scaler's label names, as if nothing
// ran on them. usable: Ready, not cordoned, and without a taint that keeps a training pod away.
std::vector<ClusterNode> nodes_in(const nlohmann::json& list);

// What a pod that has not ended uses of its node.
struct PodUse {
  std::string node;
  bool is_of_the_cluster = false;                          // every node has such a pod
  std::vector<std::pair<std::string, std::int64_t>> gpus;  // by resource
};
std::vector<PodUse> uses_in(const nlohmann::json& list);

// A node with GPUs is idle while none is used, another one while only pods run that every node has.
void add_usage(std::vector<ClusterNode>& nodes, std::span<const PodUse> uses);

// The pools of these nodes by name, with the reasons why some of their nodes take no jobs.
std::vector<Partition> pools_of(const std::vector<ClusterNode>& nodes);

// LocalQueues of Kueue (apis/kueue/v1beta1/localqueue_types.go).
std::vector<AdmissionQueue> queues_in(const nlohmann::json& list);

// A quantity of CPUs as a whole number: 8 of "8", 7 of "7910m"; 0 of another form.
std::int64_t whole_cpus(std::string_view quantity);

}  // namespace toprun::engines::kubernetes
