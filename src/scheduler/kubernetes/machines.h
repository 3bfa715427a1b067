#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scheduler/queue.h"

namespace toprun::scheduler::kubernetes {

// What `kubectl get … -o json` prints of nodes, pods and Kueue's queues; pure. What is missing or
// of another type stays unset. Error: it is no JSON, with its beginning.

// Nodes, each in the pool that its cloud's or its scaler's label names, as if nothing ran on them.
// usable: Ready, not cordoned, and without a taint that keeps a training pod away.
Result<std::vector<ClusterNode>> parse_nodes(std::string_view text);

// Adds what the pods of all namespaces that have not ended use. A node with GPUs is idle while none
// is used, another one while only pods run that every node has.
Result<void> add_usage(std::vector<ClusterNode>& nodes, std::string_view pods);

// The pools of these nodes by name, with the reasons why some of their nodes take no jobs.
std::vector<Partition> pools_of(const std::vector<ClusterNode>& nodes);

// LocalQueues of Kueue (apis/kueue/v1beta1/localqueue_types.go).
Result<std::vector<AdmissionQueue>> parse_queues(std::string_view text);

// A quantity of CPUs as a whole number: 8 of "8", 7 of "7910m"; 0 of another form.
std::int64_t whole_cpus(std::string_view quantity);

}  // namespace toprun::scheduler::kubernetes
