#include "engines/kubernetes/kubernetes_jobs.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "engines/kubernetes/json_object.h"

namespace toprun::engines::kubernetes {
namespace {

using nlohmann::json;

constexpr std::size_t most_metrics = 256;  // the CRD's limit

// A condition of a job's status that holds, and what it means. The types of training-operator
// (common_types.go), trainer (trainjob_types.go) and JobSet (jobset_types.go).
struct Condition {
  std::string_view type;
  JobState state;
  std::string_view words;
};
constexpr std::array job_conditions = {
    Condition{"Succeeded", JobState::completed, "ended well"},
    Condition{"Complete", JobState::completed, "ended well"},
    Condition{"Completed", JobState::completed, "ended well"},
    Condition{"Failed", JobState::failed, "failed"},
    Condition{"Suspended", JobState::suspended,
              "suspended: its pods are deleted until it is resumed"},
    Condition{"Restarting", JobState::starting, "its pods are started again"},
    Condition{"Running", JobState::running, ""},
    Condition{"Created", JobState::pending, "its pods are being made"},
};

void set_state(Job& job, const json& object) {
  const json& reported = at(object, {"status", "conditions"});
  job.state = JobState::pending;
  job.state_word = "Pending";
  if (!reported.is_array()) return;
  for (const Condition& condition : job_conditions) {
    const auto holds = std::ranges::find_if(reported, [&](const json& one) {
      return text_at(one, {"type"}) == condition.type && text_at(one, {"status"}) == "True";
    });
    if (holds == reported.end()) continue;
    job.state = condition.state;
    job.state_word = std::string(condition.type);
    // That a job has been made is not the reason why it waits.
    if (job.state != JobState::pending) job.reason = text_at(*holds, {"message"});
    if (text_at(*holds, {"reason"}) == "DeadlineExceeded") job.end = JobEnd::time_limit;
    if (has_ended(job.state)) job.ended = time_in(text_at(*holds, {"lastTransitionTime"}));
    return;
  }
}

// Its operator may not have seen yet that it is to make no pods.
bool is_to_be_suspended(const json& object) {
  const json& of_pytorchjob = at(object, {"spec", "runPolicy", "suspend"});
  const json& suspend = of_pytorchjob.is_null() ? at(object, {"spec", "suspend"}) : of_pytorchjob;
  return suspend.is_boolean() && suspend.get<bool>();
}

std::int64_t nodes_of(const json& object) {
  std::int64_t nodes = number_at(object, {"spec", "trainer", "numNodes"});
  const json& replicas = at(object, {"spec", "pytorchReplicaSpecs"});
  for (const json& one : replicas) nodes += number_at(one, {"replicas"});
  for (const json& one : at(object, {"spec", "replicatedJobs"})) {
    nodes += std::max<std::int64_t>(1, number_at(one, {"replicas"})) *
             number_at(one, {"template", "spec", "completions"});
  }
  return nodes;
}

void set_times(Job& job, const json& object) {
  job.submitted = time_in(text_at(object, {"metadata", "creationTimestamp"}));
  job.started = time_in(text_at(object, {"status", "startTime"}));
  if (const auto end = time_in(text_at(object, {"status", "completionTime"}))) job.ended = end;
  std::int64_t limit = number_at(object, {"spec", "runPolicy", "activeDeadlineSeconds"});
  if (limit == 0) limit = number_at(object, {"spec", "activeDeadlineSeconds"});
  for (const json& one : at(object, {"spec", "replicatedJobs"})) {
    limit = std::max(limit, number_at(one, {"template", "spec", "activeDeadlineSeconds"}));
  }
  if (limit <= 0) return;
  job.limit = std::chrono::seconds(limit);
  // training-operator tells it by its words alone.
  const bool used_up = job.started && job.ended && *job.ended - *job.started >= *job.limit;
  if (job.state == JobState::failed && used_up) job.end = JobEnd::time_limit;
}

// The trainerStatus of a TrainJob (trainer 2.3, pkg/apis/trainer/v1alpha1/trainjob_types.go), which
// its program posts.
std::optional<Progress> progress_of(const json& object) {
  const json& status = at(object, {"status", "trainerStatus"});
  if (!status.is_object()) return std::nullopt;
  Progress progress;
  if (at(status, {"progressPercentage"}).is_number_integer()) {
    progress.percent = number_at(status, {"progressPercentage"});
  }
  if (at(status, {"estimatedRemainingSeconds"}).is_number_integer()) {
    progress.remaining = std::chrono::seconds(number_at(status, {"estimatedRemainingSeconds"}));
  }
  progress.reported = time_in(text_at(status, {"lastUpdatedTime"}));
  for (const json& metric : at(status, {"metrics"})) {
    std::string name = text_at(metric, {"name"});
    if (name.empty() || progress.metrics.size() == most_metrics) continue;
    progress.metrics.emplace_back(std::move(name), text_at(metric, {"value"}));
  }
  return progress;
}

Job job_of(const json& object, const Kind& kind) {
  Job job;
  job.id = job.name = text_at(object, {"metadata", "name"});
  job.instance = text_at(object, {"metadata", "uid"});
  job.number = fmt::format("{}/{}", kind.resource, job.id);
  job.partition = text_at(object, {"metadata", "labels", "kueue.x-k8s.io/queue-name"});
  job.user = text_at(object, {"metadata", "labels", user_label});
  job.nodes = nodes_of(object);
  job.least_nodes = number_at(object, {"spec", "elasticPolicy", "minReplicas"});
  job.source = "kubectl";
  set_state(job, object);
  if (job.state == JobState::pending && is_to_be_suspended(object)) {
    job.state = JobState::suspended;
    job.state_word = "Suspended";
  }
  set_times(job, object);
  job.progress = progress_of(object);
  return job;
}

bool has_digits_alone(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// What stands behind the job's name: "worker-0" of a PyTorchJob's pod, "node-0" of a JobSet's Job,
// "node-0-1-x7k2p" of its pod. A part of another's JobSet may have any name that is not a number.
bool is_name_of_part(std::string_view rest, const Kind& kind) {
  constexpr std::array<std::string_view, 2> roles = {"master", "worker"};
  constexpr std::array<std::string_view, 4> steps = {"node", "launcher", "dataset-initializer",
                                                     "model-initializer"};
  const auto follows_number = [&](std::string_view part) {
    if (!rest.starts_with(part) || !rest.substr(part.size()).starts_with('-')) return false;
    const std::string_view number = rest.substr(part.size() + 1);
    return has_digits_alone(number.substr(0, number.find('-')));
  };
  if (kind.word == "PyTorchJob") return std::ranges::any_of(roles, follows_number);
  if (kind.word == "TrainJob") return std::ranges::any_of(steps, follows_number);
  const auto words = split(rest, '-');
  return words.size() > 1 && !has_digits_alone(words.front()) &&
         std::ranges::any_of(words, has_digits_alone);
}

bool is_of_job(std::string_view about, std::string_view job, const Kind& kind) {
  if (!about.starts_with(job)) return false;
  const std::string_view rest = about.substr(job.size());
  return rest.empty() || (rest.starts_with('-') && is_name_of_part(rest.substr(1), kind));
}

bool is_made_by_another(const json& object) {
  const json& owners = at(object, {"metadata", "ownerReferences"});
  return owners.is_array() && !owners.empty();
}

}  // namespace

std::string_view state_words(std::string_view state_word) {
  const auto found = std::ranges::find(job_conditions, state_word, &Condition::type);
  return found == job_conditions.end() ? std::string_view() : found->words;
}

std::vector<Job> jobs_in(const json& list, const Kind& kind) {
  std::vector<Job> jobs;
  for (const json* object : items_of(list)) {
    if (!is_made_by_another(*object)) jobs.push_back(job_of(*object, kind));
  }
  return jobs;
}

std::vector<Warning> warnings_in(const json& list) {
  std::vector<Warning> all;
  for (const json* event : items_of(list)) {
    if (text_at(*event, {"type"}) != "Warning") continue;
    std::string when = text_at(*event, {"lastTimestamp"});
    if (when.empty()) when = text_at(*event, {"eventTime"});
    all.push_back({text_at(*event, {"involvedObject", "name"}), std::move(when),
                   text_at(*event, {"reason"}), text_at(*event, {"message"})});
  }
  return all;
}

const Warning* last_warning(std::span<const Warning> warnings, std::string_view job,
                            const Kind& kind) {
  const Warning* last = nullptr;
  for (const Warning& warning : warnings) {
    if (!is_of_job(warning.about, job, kind)) continue;
    // RFC 3339 in UTC sorts as text
    if (last == nullptr || warning.moment >= last->moment) last = &warning;
  }
  return last;
}

}  // namespace toprun::engines::kubernetes
