#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "engines/queue.h"

namespace toprun::engines::kubernetes {

// A pod's position in its job. The position comes from Kubeflow's labels, a JobSet's labels or the
// index of an Indexed Job, otherwise from the pod's name.
struct PodIndex {
  bool is_worker = false;
  std::string part;  // the replicatedJob in a JobSet
  std::int64_t job = 0;
  std::int64_t number = 0;
  std::string name;  // for pods without a number
  auto operator<=>(const PodIndex&) const = default;
};

// Why a pod waits: a word, and a sentence that explains the word.
struct Reason {
  std::string word;  // "Unschedulable"; empty: no reason
  std::string sentence;
};

// How a failed pod ended.
struct Death {
  std::string moment;  // RFC 3339; empty: unknown
  int code = 0;        // 0: unknown
  std::string why;     // "train-worker-0: Evicted The node was low on resource: memory"
  bool is_preemption = false;
};

// Facts about a job from one of its pods.
struct PodFacts {
  std::string job;  // the job's name, from its label
  std::string made;
  PodIndex index;
  std::string node, phase;
  std::optional<Printer> printer;  // unset until the pod's container has started
  std::string step;                // until the container has started: the pod's start-up step,
                                   // "ContainerCreating"
  Reason waits;                    // why the pod will not start by itself
  std::optional<Death> death;
  bool prepares = false;  // the pod is an initializer of a TrainJob, which does not count as a node
                          // of the job
  JobPod pod;
};

// Reads the pods in a list. `label` is the label whose value is the name of the pod's job. Values
// that are missing or of another type stay unset. Pure function.
std::vector<PodFacts> pods_in(const nlohmann::json& list, std::string_view label);

// Adds facts from the job's pods to `job`. They are where the pods run, why they wait, and the
// first exit code other than 0. Pure function.
void add_pods(Job& job, std::span<const PodFacts> pods);

// Returns a job's pods, sorted by their number in the job. If several pods have the same number,
// the running pod is chosen, because it may be the replacement of an ended pod. Pure function.
std::vector<JobPod> pods_by_number(std::span<const PodFacts> pods);

}  // namespace toprun::engines::kubernetes
