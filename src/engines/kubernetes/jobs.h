#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "engines/queue.h"

namespace toprun::engines::kubernetes {

// The kinds of jobs that are looked for.
struct Kind {
  std::string_view resource;    // as kubectl takes it: "pytorchjobs.kubeflow.org"
  std::string_view word;        // "PyTorchJob"
  std::string_view pods_label;  // of its pods: its value is the job's name
  std::string_view version;     // that of the objects which toprun writes
};
inline constexpr std::array kinds = {
    Kind{"pytorchjobs.kubeflow.org", "PyTorchJob", "training.kubeflow.org/job-name", "v1"},
    Kind{"trainjobs.trainer.kubeflow.org", "TrainJob", "jobset.sigs.k8s.io/jobset-name",
         "v1alpha1"},
    Kind{"jobsets.jobset.x-k8s.io", "JobSet", "jobset.sigs.k8s.io/jobset-name", "v1alpha2"},
};

// The label of jobs that toprun has submitted, with the user's name on the submitting host.
inline constexpr std::string_view user_label = "toprun.io/user";

// What the API server says of jobs and of what happens to them; pure. What is missing or of another
// type stays unset.
//
// The jobs in a list or a single object of the kind. A JobSet that a TrainJob has made is left out.
std::vector<Job> jobs_in(const nlohmann::json& list, const Kind& kind);

// An event of type Warning about an object: "FailedCreatePod", "exceeded quota …".
struct Warning {
  std::string about, moment, reason, message;
};
std::vector<Warning> warnings_in(const nlohmann::json& list);

// The last one about the job or what its operator makes of it ("train-worker-0" of a PyTorchJob
// "train", but not "train-2-worker-0", which is another's); null: none.
const Warning* last_warning(std::span<const Warning> warnings, std::string_view job,
                            const Kind& kind);

// What a state means, of these words; empty: the word says it, or we do not know it.
std::string_view state_words(std::string_view state_word);

}  // namespace toprun::engines::kubernetes
