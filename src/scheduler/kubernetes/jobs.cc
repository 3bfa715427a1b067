#include "scheduler/kubernetes/jobs.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "scheduler/kubernetes/json_object.h"

namespace toprun::scheduler::kubernetes {
namespace {

using nlohmann::json;

constexpr std::size_t most_waiting_pods_named = 3;
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
    Condition{"Suspended", JobState::suspended, "suspended: its pods are taken away for now"},
    Condition{"Restarting", JobState::starting, "its pods are started again"},
    Condition{"Running", JobState::running, ""},
    Condition{"Created", JobState::pending, "its pods are being made"},
};

// Why a container that waits will not begin by itself (kubelet's pkg/kubelet/images/types.go and
// container/sync_result.go).
constexpr std::array<std::string_view, 6> hopeless = {
    "ErrImagePull",         "ImagePullBackOff",           "InvalidImageName",
    "CreateContainerError", "CreateContainerConfigError", "CrashLoopBackOff"};

constexpr std::array<std::string_view, 2> containers_of_jobs = {"pytorch", "node"};

void set_state(Job& job, const json& object) {
  const json& told = at(object, {"status", "conditions"});
  job.state = JobState::pending;
  job.state_word = "Pending";
  if (!told.is_array()) return;
  for (const Condition& condition : job_conditions) {
    const auto holds = std::ranges::find_if(told, [&](const json& one) {
      return text_at(one, {"type"}) == condition.type && text_at(one, {"status"}) == "True";
    });
    if (holds == told.end()) continue;
    job.state = condition.state;
    job.state_word = std::string(condition.type);
    job.reason = text_at(*holds, {"message"});
    if (text_at(*holds, {"reason"}) == "DeadlineExceeded") job.end = JobEnd::time_limit;
    if (has_ended(job.state)) job.ended = time_in(text_at(*holds, {"lastTransitionTime"}));
    return;
  }
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
  progress.told = time_in(text_at(status, {"lastUpdatedTime"}));
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
  job.number = fmt::format("{}/{}", kind.resource, job.id);
  job.partition = text_at(object, {"metadata", "labels", "kueue.x-k8s.io/queue-name"});
  job.user = text_at(object, {"metadata", "labels", user_label});
  job.nodes = nodes_of(object);
  job.least_nodes = number_at(object, {"spec", "elasticPolicy", "minReplicas"});
  job.source = "kubectl";
  set_state(job, object);
  set_times(job, object);
  job.progress = progress_of(object);
  return job;
}

bool is_made_by_another(const json& object) {
  const json& owners = at(object, {"metadata", "ownerReferences"});
  return owners.is_array() && !owners.empty();
}

// Its container, if it has begun.
std::optional<Printer> printer_of(const json& pod) {
  for (const json& container : at(pod, {"status", "containerStatuses"})) {
    const json& state = at(container, {"state"});
    const bool has_begun = !at(state, {"running"}).is_null() ||
                           !at(state, {"terminated"}).is_null() ||
                           !at(container, {"lastState", "terminated"}).is_null();
    if (!has_begun) continue;
    return Printer{text_at(pod, {"metadata", "name"}), number_at(container, {"restartCount"}),
                   text_at(pod, {"metadata", "uid"})};
  }
  return std::nullopt;
}

// "train-worker-0: ContainerCreating".
std::string step_of(const json& pod) {
  std::string step = "is being made";
  for (const json& container : at(pod, {"status", "containerStatuses"})) {
    if (std::string told = text_at(container, {"state", "waiting", "reason"}); !told.empty()) {
      step = std::move(told);
    }
  }
  return fmt::format("{}: {}", text_at(pod, {"metadata", "name"}), step);
}

// Why a pod does not run: what the scheduler says, or what its container waits for.
std::string reason_of(const json& pod) {
  for (const json& condition : at(pod, {"status", "conditions"})) {
    if (text_at(condition, {"reason"}) != "Unschedulable") continue;
    return "Unschedulable: " + text_at(condition, {"message"});
  }
  for (const json& container : at(pod, {"status", "containerStatuses"})) {
    const std::string reason = text_at(container, {"state", "waiting", "reason"});
    if (std::ranges::find(hopeless, reason) == hopeless.end()) continue;
    return reason + ": " + text_at(container, {"state", "waiting", "message"});
  }
  return {};
}

// The container of the manifests that toprun writes and the operators ask for, else the one that
// kubectl takes.
std::string container_of(const json& pod) {
  const json& containers = at(pod, {"spec", "containers"});
  const std::string wanted =
      text_at(pod, {"metadata", "annotations", "kubectl.kubernetes.io/default-container"});
  std::string first;
  for (const json& container : containers) {
    const std::string name = text_at(container, {"name"});
    if (name == wanted || (wanted.empty() && std::ranges::find(containers_of_jobs, name) !=
                                                 containers_of_jobs.end())) {
      return name;
    }
    if (first.empty()) first = name;
  }
  return first;
}

// Not toprun, whose words may be those of a script that sleeps.
bool only_sleeps(const json& pod, std::string_view container) {
  for (const json& one : at(pod, {"spec", "containers"})) {
    if (text_at(one, {"name"}) != container) continue;
    const json& command = at(one, {"command"});
    const bool has_words = command.is_array() && !command.empty() && command[0].is_string();
    if (has_words && command[0].get<std::string>().ends_with("toprun")) return false;
    for (const std::string_view key : {"command", "args"}) {
      for (const json& word : at(one, {key})) {
        if (word.is_string() && word.get<std::string>().contains("sleep")) return true;
      }
    }
  }
  return false;
}

std::string trouble_of(const json& pod, std::string_view container) {
  const std::string phase = text_at(pod, {"status", "phase"});
  if (!text_at(pod, {"metadata", "deletionTimestamp"}).empty()) return "it is being deleted";
  if (phase != "Running") {
    const std::string reason = reason_of(pod);
    return reason.empty() ? phase : fmt::format("{}: {}", phase, reason);
  }
  for (const json& one : at(pod, {"status", "containerStatuses"})) {
    if (text_at(one, {"name"}) != container || at(one, {"state", "running"}).is_object()) continue;
    const std::string reason = reason_of(pod);
    return reason.empty() ? "its container does not run" : reason;
  }
  return {};
}

// Where a pod stands in its job: Kubeflow's labels, the index of an Indexed Job, else its name.
struct Place {
  bool is_worker = false;
  std::int64_t number = 0;
  std::string name;  // of pods without a number
  auto operator<=>(const Place&) const = default;
};

Place place_of(const json& pod) {
  const auto label = [&](std::string_view name) {
    const std::string said = text_at(pod, {"metadata", "labels", name});
    return said.empty() ? text_at(pod, {"metadata", "annotations", name}) : said;
  };
  for (const std::string_view name :
       {"training.kubeflow.org/replica-index", "batch.kubernetes.io/job-completion-index"}) {
    if (const auto number = parse_int(label(name))) {
      return {label("training.kubeflow.org/replica-type") == "worker", *number, {}};
    }
  }
  return {false, 0, text_at(pod, {"metadata", "name"})};
}

struct Death {
  std::string moment;
  int code = 0;
  std::string why;  // "n0 was evicted: the node was low on resource: memory"
};

std::optional<Death> death_of(const json& pod) {
  if (text_at(pod, {"status", "phase"}) != "Failed") return std::nullopt;
  Death death;
  const std::string name = text_at(pod, {"metadata", "name"});
  const std::string reason = text_at(pod, {"status", "reason"});
  if (!reason.empty()) {
    death.why = fmt::format("{}: {} {}", name, reason, text_at(pod, {"status", "message"}));
  }
  for (const json& container : at(pod, {"status", "containerStatuses"})) {
    const json& end = at(container, {"state", "terminated"});
    const std::int64_t code = number_at(end, {"exitCode"});
    if (code < 1 || code > 255) continue;
    death.code = static_cast<int>(code);
    death.moment = text_at(end, {"finishedAt"});
    if (const std::string words = text_at(end, {"message"}); !words.empty() && reason.empty()) {
      death.why = fmt::format("{}: {} {}", name, text_at(end, {"reason"}), words);
    }
  }
  return death;
}

// A JobSet tells neither why its Job has failed nor when it began. At the limit a Job takes its
// pods away, and none is left that has failed.
bool is_past_limit(const Job& job) {
  return job.limit && job.ended && job.submitted && *job.ended - *job.submitted >= *job.limit;
}

void add_deaths(Job& job, std::vector<Death> deaths) {
  if (deaths.empty()) {
    if (is_past_limit(job)) job.end = JobEnd::time_limit;
    job.cause = job.reason;
    return;
  }
  // RFC 3339 in UTC sorts as text; a pod that was evicted may have no time and comes first.
  const Death& first = *std::ranges::min_element(deaths, {}, &Death::moment);
  if (first.code != 0) job.exit_code = first.code;
  if (!first.why.empty()) job.cause = job.reason = first.why;
  if (first.why.contains(": Evicted ") || first.why.contains(": Preempted ")) {
    job.end = JobEnd::preemption;
  }
}

}  // namespace

std::string_view state_words(std::string_view state_word) {
  const auto found = std::ranges::find(job_conditions, state_word, &Condition::type);
  return found == job_conditions.end() ? std::string_view() : found->words;
}

Result<std::vector<Job>> parse_jobs(std::string_view text, const Kind& kind) {
  const auto value = parse_object(text);
  if (!value) return std::unexpected(value.error());
  std::vector<Job> jobs;
  for (const json* object : items_of(*value)) {
    if (!is_made_by_another(*object)) jobs.push_back(job_of(*object, kind));
  }
  return jobs;
}

Result<void> add_pods(Job& job, std::string_view text) {
  const auto value = parse_object(text);
  if (!value) return std::unexpected(value.error());
  std::vector<std::string> nodes, waiting, coming;
  std::vector<Death> deaths;
  bool any_runs = false;
  for (const json* pod : items_of(*value)) {
    const std::string phase = text_at(*pod, {"status", "phase"});
    const std::string node = text_at(*pod, {"spec", "nodeName"});
    if (!node.empty()) nodes.push_back(node);
    any_runs = any_runs || phase == "Running";
    if (auto printer = printer_of(*pod)) {
      job.printers.push_back(*std::move(printer));
    } else {
      coming.push_back(step_of(*pod));
    }
    if (std::string reason = reason_of(*pod); !reason.empty()) {
      waiting.push_back(text_at(*pod, {"metadata", "name"}) + ": " + reason);
    }
    if (auto death = death_of(*pod)) deaths.push_back(*std::move(death));
  }
  job.node_list = join(nodes, ",");
  if (has_ended(job.state)) {
    if (job.state == JobState::failed) add_deaths(job, std::move(deaths));
    return {};
  }
  if (!waiting.empty()) {
    waiting.resize(std::min(waiting.size(), most_waiting_pods_named));
    job.state = JobState::pending;
    job.state_word = "Pending";
    job.reason = join(waiting, "; ");
  } else if (job.state == JobState::pending && any_runs) {
    job.state = JobState::running;
    job.state_word = "Running";
  }
  const std::int64_t wanted = job.least_nodes > 0 ? job.least_nodes : job.nodes;
  if (job.state == JobState::running && std::ssize(job.printers) < wanted) {
    coming.resize(std::min(coming.size(), most_waiting_pods_named));
    job.state = JobState::starting;
    job.state_word = "Starting";
    job.reason = fmt::format("{} of {} pods run; {}", job.printers.size(), job.nodes,
                             coming.empty() ? "the others are to be made" : join(coming, "; "));
  }
  return {};
}

std::string last_warning(std::string_view events, std::string_view job) {
  const auto value = parse_object(events);
  if (!value) return {};
  const std::string beginning = fmt::format("{}-", job);
  std::string last, moment_of_last;
  for (const json* event : items_of(*value)) {
    const std::string about = text_at(*event, {"involvedObject", "name"});
    if (about != job && !about.starts_with(beginning)) continue;
    if (text_at(*event, {"type"}) != "Warning") continue;
    std::string when = text_at(*event, {"lastTimestamp"});
    if (when.empty()) when = text_at(*event, {"eventTime"});
    if (when < moment_of_last) continue;  // RFC 3339 in UTC sorts as text
    moment_of_last = std::move(when);
    last = fmt::format("{}: {}", text_at(*event, {"reason"}), text_at(*event, {"message"}));
  }
  return last;
}

Result<std::vector<JobPod>> parse_pods(std::string_view text) {
  const auto value = parse_object(text);
  if (!value) return std::unexpected(value.error());
  std::map<Place, JobPod> pods;
  for (const json* pod : items_of(*value)) {
    JobPod one;
    one.name = text_at(*pod, {"metadata", "name"});
    if (one.name.empty()) continue;
    one.container = container_of(*pod);
    one.address = text_at(*pod, {"status", "podIP"});
    one.trouble = trouble_of(*pod, one.container);
    one.sleeps = only_sleeps(*pod, one.container);
    JobPod& known = pods[place_of(*pod)];
    if (known.name.empty() || !known.trouble.empty()) known = std::move(one);
  }
  std::vector<JobPod> all;
  for (auto& [place, pod] : pods) all.push_back(std::move(pod));
  return all;
}

}  // namespace toprun::scheduler::kubernetes
