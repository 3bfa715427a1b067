#include "engines/kubernetes/job_pods.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include <nlohmann/json.hpp>

#include "base/net/hostlist.h"
#include "base/text/text.h"
#include "engines/kubernetes/json_object.h"

namespace toprun::engines::kubernetes {
namespace {

using nlohmann::json;

constexpr std::size_t most_reasons = 3;  // in one sentence

// Why a container that waits will not begin by itself (kubelet's pkg/kubelet/images/types.go and
// container/sync_result.go).
constexpr std::array<std::string_view, 6> hopeless = {
    "ErrImagePull",         "ImagePullBackOff",           "InvalidImageName",
    "CreateContainerError", "CreateContainerConfigError", "CrashLoopBackOff"};

constexpr std::array<std::string_view, 2> containers_of_jobs = {"pytorch", "node"};

// Of a TrainJob (trainer, pkg/constants/constants.go).
constexpr std::array<std::string_view, 2> initializers = {"dataset-initializer",
                                                          "model-initializer"};

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

std::string step_of(const json& pod) {
  std::string step = "is being made";
  for (const json& container : at(pod, {"status", "containerStatuses"})) {
    if (std::string reported = text_at(container, {"state", "waiting", "reason"});
        !reported.empty()) {
      step = std::move(reported);
    }
  }
  return step;
}

// What the scheduler says, or what its container waits for.
Reason reason_of(const json& pod) {
  for (const json& condition : at(pod, {"status", "conditions"})) {
    if (text_at(condition, {"reason"}) != "Unschedulable") continue;
    return {"Unschedulable", text_at(condition, {"message"})};
  }
  for (const json& container : at(pod, {"status", "containerStatuses"})) {
    std::string word = text_at(container, {"state", "waiting", "reason"});
    if (std::ranges::find(hopeless, word) == hopeless.end()) continue;
    return {std::move(word), text_at(container, {"state", "waiting", "message"})};
  }
  return {};
}

std::string in_words(const Reason& reason) {
  return reason.sentence.empty() ? reason.word
                                 : fmt::format("{}: {}", reason.word, reason.sentence);
}

// The container of the manifests that toprun writes and the operators ask for, else the one that
// kubectl takes.
std::string container_of(const json& pod) {
  const json& containers = at(pod, {"spec", "containers"});
  const std::string requested =
      text_at(pod, {"metadata", "annotations", "kubectl.kubernetes.io/default-container"});
  std::string first;
  for (const json& container : containers) {
    const std::string name = text_at(container, {"name"});
    if (name == requested || (requested.empty() && std::ranges::find(containers_of_jobs, name) !=
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
  const Reason reason = reason_of(pod);
  if (phase != "Running") {
    return reason.word.empty() ? phase : fmt::format("{}: {}", phase, in_words(reason));
  }
  for (const json& one : at(pod, {"status", "containerStatuses"})) {
    if (text_at(one, {"name"}) != container || at(one, {"state", "running"}).is_object()) continue;
    return reason.word.empty() ? "its container does not run" : in_words(reason);
  }
  return {};
}

std::string label_of(const json& pod, std::string_view name) {
  std::string said = text_at(pod, {"metadata", "labels", name});
  return said.empty() ? text_at(pod, {"metadata", "annotations", name}) : said;
}

PodIndex index_of(const json& pod) {
  for (const std::string_view name :
       {"training.kubeflow.org/replica-index", "batch.kubernetes.io/job-completion-index"}) {
    const auto number = parse_int(label_of(pod, name));
    if (!number) continue;
    return {label_of(pod, "training.kubeflow.org/replica-type") == "worker",
            label_of(pod, "jobset.sigs.k8s.io/replicatedjob-name"),
            parse_int(label_of(pod, "jobset.sigs.k8s.io/job-index")).value_or(0),
            *number,
            {}};
  }
  return {false, {}, 0, 0, text_at(pod, {"metadata", "name"})};
}

std::optional<Death> death_of(const json& pod) {
  if (text_at(pod, {"status", "phase"}) != "Failed") return std::nullopt;
  Death death;
  const std::string name = text_at(pod, {"metadata", "name"});
  const std::string reason = text_at(pod, {"status", "reason"});
  death.is_preemption = reason == "Evicted" || reason == "Preempted";
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

PodFacts facts_of(const json& pod, std::string_view label) {
  PodFacts facts;
  facts.job = text_at(pod, {"metadata", "labels", label});
  facts.made = text_at(pod, {"metadata", "creationTimestamp"});
  facts.index = index_of(pod);
  facts.node = text_at(pod, {"spec", "nodeName"});
  facts.phase = text_at(pod, {"status", "phase"});
  facts.printer = printer_of(pod);
  if (!facts.printer) facts.step = step_of(pod);
  facts.waits = reason_of(pod);
  facts.death = death_of(pod);
  facts.prepares = std::ranges::find(initializers, facts.index.part) != initializers.end();
  facts.pod.name = text_at(pod, {"metadata", "name"});
  facts.pod.container = container_of(pod);
  facts.pod.address = text_at(pod, {"status", "podIP"});
  facts.pod.trouble = trouble_of(pod, facts.pod.container);
  facts.pod.sleeps = only_sleeps(pod, facts.pod.container);
  return facts;
}

// Of several in one place the one that lives, else the last one. By place.
std::vector<const PodFacts*> current(std::span<const PodFacts> pods) {
  std::map<PodIndex, const PodFacts*> by_index;
  for (const PodFacts& pod : pods) {
    const PodFacts*& known = by_index[pod.index];
    const bool is_next = known == nullptr || (!known->pod.trouble.empty() &&
                                              (pod.pod.trouble.empty() || pod.made >= known->made));
    if (is_next) known = &pod;
  }
  std::vector<const PodFacts*> all;
  for (const auto& [index, pod] : by_index) all.push_back(pod);
  return all;
}

// Reasons with the names of the pods that have them, equal ones together.
class Reasons {
 public:
  void add(const Reason& reason, const std::string& pod) {
    const auto same = [&](const Shared& one) {
      return one.reason.word == reason.word && one.reason.sentence == reason.sentence;
    };
    auto known = std::ranges::find_if(all_, same);
    if (known == all_.end()) known = all_.insert(all_.end(), {reason, {}});
    known->pods.push_back(pod);
  }
  bool empty() const { return all_.empty(); }
  // The first one's word, and a sentence on all of them.
  Reason joined() const {
    std::vector<std::string> parts;
    for (const Shared& one : all_) {
      if (parts.size() == most_reasons) break;
      const std::string text = parts.empty() ? one.reason.sentence : in_words(one.reason);
      const std::string pods = hosts::short_list(one.pods);
      parts.push_back(text.empty() ? pods : fmt::format("{} ({})", text, pods));
    }
    if (all_.size() > parts.size()) {
      parts.push_back("and " + counted(all_.size() - parts.size(), "other reason"));
    }
    return {all_.front().reason.word, join(parts, "; ")};
  }

 private:
  struct Shared {
    Reason reason;
    std::vector<std::string> pods;
  };
  std::vector<Shared> all_;
};

// A JobSet tells neither why its Job has failed nor when it began. At the limit a Job takes its
// pods away, and none is left that has failed.
bool is_past_limit(const Job& job) {
  return job.limit && job.ended && job.submitted && *job.ended - *job.submitted >= *job.limit;
}

// Of pods that were replaced since, the ends count only where no other has failed.
std::vector<Death> deaths_of(std::span<const PodFacts> pods) {
  std::vector<Death> last, all;
  for (const PodFacts* pod : current(pods)) {
    if (pod->death) last.push_back(*pod->death);
  }
  for (const PodFacts& pod : pods) {
    if (pod.death) all.push_back(*pod.death);
  }
  return last.empty() ? all : last;
}

void add_deaths(Job& job, const std::vector<Death>& deaths) {
  if (deaths.empty()) {
    if (is_past_limit(job)) job.end = JobEnd::time_limit;
    job.cause = job.reason;
    return;
  }
  // RFC 3339 in UTC sorts as text; a pod that was evicted may have no time and comes first.
  const Death& first = *std::ranges::min_element(deaths, {}, &Death::moment);
  if (first.code != 0) job.exit_code = first.code;
  if (!first.why.empty()) job.cause = job.reason = first.why;
  if (first.is_preemption) job.end = JobEnd::preemption;
}

// The nodes of the pods, each once.
std::string node_list_of(std::span<const PodFacts* const> pods) {
  std::vector<std::string> nodes;
  for (const PodFacts* pod : pods) {
    if (!pod->node.empty() && !pod->prepares) nodes.push_back(pod->node);
  }
  std::ranges::sort(nodes, natural_less);
  const auto repeated = std::ranges::unique(nodes);
  nodes.erase(repeated.begin(), repeated.end());
  return hosts::compress_hostlist(nodes);
}

void set_reason(Job& job, Reason reason) {
  job.reason = std::move(reason.word);
  job.reason_words = std::move(reason.sentence);
}

void set_pending(Job& job, std::string_view state_word, Reason reason) {
  job.state = JobState::pending;
  job.state_word = state_word;
  set_reason(job, std::move(reason));
  job.started.reset();  // its operator means that it has seen the job
  job.used.reset();
}

Reason none_made(const Job& job) {
  if (job.nodes < 2) return {"NoPods", "no pod of it has been made yet"};
  return {"NoPods", fmt::format("none of its {} pods has been made yet", job.nodes)};
}

// Of a job that has not ended.
void set_state_by_pods(Job& job, std::span<const PodFacts* const> pods) {
  Reasons waiting, coming;
  bool any_runs = false;
  std::int64_t begun = 0;
  for (const PodFacts* pod : pods) {
    any_runs = any_runs || pod->phase == "Running";
    if (!pod->waits.word.empty()) waiting.add(pod->waits, pod->pod.name);
    if (pod->prepares) continue;
    if (pod->printer) ++begun;
    if (!pod->printer) coming.add({pod->step, {}}, pod->pod.name);
  }
  if (!waiting.empty()) return set_pending(job, "Pending", waiting.joined());
  if (job.state == JobState::pending && any_runs) {
    job.state = JobState::running;
    job.state_word = "Running";
  }
  if (job.state == JobState::pending) {
    return set_pending(job, job.state_word, coming.empty() ? none_made(job) : coming.joined());
  }
  const std::int64_t requested = job.least_nodes > 0 ? job.least_nodes : job.nodes;
  if (job.state != JobState::running || begun >= requested) return;
  const Reason rest = coming.empty() ? Reason{"the others are not made yet", {}} : coming.joined();
  job.state = JobState::starting;
  job.state_word = "Starting";
  set_reason(job,
             {"Starting", fmt::format("{} of {} pods run; {}", begun, job.nodes, in_words(rest))});
}

}  // namespace

std::vector<PodFacts> pods_in(const json& list, std::string_view label) {
  std::vector<PodFacts> pods;
  for (const json* pod : items_of(list)) pods.push_back(facts_of(*pod, label));
  return pods;
}

void add_pods(Job& job, std::span<const PodFacts> pods) {
  for (const PodFacts& pod : pods) {
    if (pod.printer) job.printers.push_back(*pod.printer);
  }
  const auto now = current(pods);
  job.node_list = node_list_of(now);
  if (job.state == JobState::failed) return add_deaths(job, deaths_of(pods));
  if (has_ended(job.state) || job.state == JobState::suspended) return;
  set_state_by_pods(job, now);
}

std::vector<JobPod> pods_by_number(std::span<const PodFacts> pods) {
  std::vector<JobPod> all;
  for (const PodFacts* pod : current(pods)) {
    if (!pod->prepares && !pod->pod.name.empty()) all.push_back(pod->pod);
  }
  return all;
}

}  // namespace toprun::engines::kubernetes
