#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/queue.h"

namespace toprun::scheduler::kubernetes {

// The kinds of jobs that are looked for.
struct Kind {
  std::string_view resource;    // as kubectl takes it: "pytorchjobs.kubeflow.org"
  std::string_view word;        // "PyTorchJob"
  std::string_view pods_label;  // of its pods: its value is the job's name
};
inline constexpr std::array kinds = {
    Kind{"pytorchjobs.kubeflow.org", "PyTorchJob", "training.kubeflow.org/job-name"},
    Kind{"trainjobs.trainer.kubeflow.org", "TrainJob", "jobset.sigs.k8s.io/jobset-name"},
    Kind{"jobsets.jobset.x-k8s.io", "JobSet", "jobset.sigs.k8s.io/jobset-name"},
};

// The label of jobs that toprun has submitted, with the user's name on the submitting host.
inline constexpr std::string_view user_label = "toprun.io/user";

// What `kubectl get … -o json` prints about jobs and pods; pure. What is missing or of another type
// stays unset. Error: it is no JSON, with its beginning.
//
// The jobs in a list or a single object of the kind. A JobSet that a TrainJob has made is left out.
Result<std::vector<Job>> parse_jobs(std::string_view text, const Kind& kind);

// What the pods of a job tell of it: where they run, why they wait, the first bad exit code.
Result<void> add_pods(Job& job, std::string_view text);

// The pods of a job by their number in it. Of several with one number the one that lives: a pod
// that has ended may have another in its place.
Result<std::vector<JobPod>> parse_pods(std::string_view text);

// The last warning among events (`kubectl get events -o json`) about the job or what was made of
// it, whose names begin with its name: "FailedCreatePod: exceeded quota …". Empty: there is none.
std::string last_warning(std::string_view events, std::string_view job);

// A job's state for people: "ended well" of "Succeeded"; empty: it says enough.
std::string_view state_words(std::string_view state_word);

}  // namespace toprun::scheduler::kubernetes
