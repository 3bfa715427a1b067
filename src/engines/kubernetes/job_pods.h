#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "engines/queue.h"

namespace toprun::engines::kubernetes {

// Where a pod stands in its job: Kubeflow's labels, those of a JobSet and the index of an Indexed
// Job, else its name.
struct Place {
  bool is_worker = false;
  std::string part;  // which of a JobSet's replicatedJobs
  std::int64_t job = 0;
  std::int64_t number = 0;
  std::string name;  // of pods without a number
  auto operator<=>(const Place&) const = default;
};

// Why something does not happen: a word, and a sentence to it.
struct Reason {
  std::string word;  // "Unschedulable"; empty: there is none
  std::string sentence;
};

// The end of a pod that failed.
struct Death {
  std::string moment;  // RFC 3339; empty: not told
  int code = 0;        // 0: not told
  std::string why;     // "train-worker-0: Evicted The node was low on resource: memory"
  bool is_preemption = false;
};

// What a pod tells of its job.
struct PodFacts {
  std::string job;  // the name of its job, by its label
  std::string made;
  Place place;
  std::string node, phase;
  std::optional<Printer> printer;  // once its container has begun
  std::string step;                // until then: "ContainerCreating"
  Reason waits;                    // why it will not run by itself
  std::optional<Death> death;
  bool prepares = false;  // one of a TrainJob's initializers, which is none of the job's nodes
  JobPod pod;
};

// The pods in a list, by the value of `label`. What is missing or of another type stays unset.
// Pure.
std::vector<PodFacts> pods_in(const nlohmann::json& list, std::string_view label);

// What the pods of a job tell of it: where they run, why they wait, the first bad exit code. Pure.
void add_pods(Job& job, std::span<const PodFacts> pods);

// The pods of a job by their number in it. Of several with one number the one that lives: a pod
// that has ended may have another in its place. Pure.
std::vector<JobPod> pods_by_number(std::span<const PodFacts> pods);

}  // namespace toprun::engines::kubernetes
