#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "engines/queue.h"

namespace toprun::engines::kubernetes {

// A kind of job that toprun finds in a Kubernetes cluster.
struct Kind {
  std::string_view resource;    // the name for kubectl: "pytorchjobs.kubeflow.org"
  std::string_view word;        // "PyTorchJob"
  std::string_view pods_label;  // the label of the job's pods whose value is the job's name
  std::string_view version;     // API version of the objects that toprun writes
};
inline constexpr std::array kinds = {
    Kind{"pytorchjobs.kubeflow.org", "PyTorchJob", "training.kubeflow.org/job-name", "v1"},
    Kind{"trainjobs.trainer.kubeflow.org", "TrainJob", "jobset.sigs.k8s.io/jobset-name",
         "v1alpha1"},
    Kind{"jobsets.jobset.x-k8s.io", "JobSet", "jobset.sigs.k8s.io/jobset-name", "v1alpha2"},
};

// The label on jobs that toprun submitted. Its value is the user's name on the submitting host.
inline constexpr std::string_view user_label = "toprun.io/user";

// Parsers for the API server's answers about jobs and events; pure functions. Values that are
// missing or of another type stay unset.

// Reads the jobs in a list, or the job in an object of this kind. A JobSet that belongs to a
// TrainJob is left out.
std::vector<Job> jobs_in(const nlohmann::json& list, const Kind& kind);

// An event with type Warning about an object: "FailedCreatePod", "exceeded quota …".
struct Warning {
  std::string about, moment, reason, message;
};
std::vector<Warning> warnings_in(const nlohmann::json& list);

// Returns the last warning about the job or about an object that the job's operator made. For the
// PyTorchJob "train", the pod "train-worker-0" counts, but not "train-2-worker-0" of another job.
// null: no warning.
const Warning* last_warning(std::span<const Warning> warnings, std::string_view job,
                            const Kind& kind);

// Explains a state. Empty: the state needs no explanation, or toprun does not know it.
std::string_view state_words(std::string_view state_word);

}  // namespace toprun::engines::kubernetes
