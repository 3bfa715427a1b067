#include "engines/runai/runai_jobs.h"

#include <algorithm>
#include <array>
#include <tuple>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/text/text.h"
#include "engines/kubernetes/kubernetes_jobs.h"
#include "engines/kubernetes/pod_name.h"
#include "engines/runai/table.h"

namespace toprun::engines::runai {
namespace {

using nlohmann::json;

constexpr const char* list_fix = "check with runai list that it works";

// Words of both programs' states, in lower case, and what they mean.
struct State {
  std::string_view word;
  JobState state;
  std::string_view words;
};
constexpr std::array states = {
    State{"pending", JobState::pending, ""},
    State{"creating", JobState::pending, "its pods are being made"},
    State{"initializing", JobState::starting, "its pods are starting"},
    State{"containercreating", JobState::starting, "its pods are starting"},
    State{"resuming", JobState::starting, ""},
    State{"running", JobState::running, ""},
    State{"updating", JobState::running, ""},
    State{"degraded", JobState::running, "some of its pods do not run"},
    State{"stopping", JobState::completing, ""},
    State{"stopped", JobState::suspended, "stopped: its pods are deleted until it is resumed"},
    State{"suspended", JobState::suspended, "suspended: its pods are deleted until it is resumed"},
    State{"preempted", JobState::pending, "another job has taken its GPUs"},
    State{"terminating", JobState::completing, ""},
    State{"deleting", JobState::completing, ""},
    State{"succeeded", JobState::completed, "ended well"},
    State{"completed", JobState::completed, "ended well"},
    State{"failed", JobState::failed, "failed"},
    State{"error", JobState::failed, "failed"},
    // What kubelet says of a container that does not begin.
    State{"imagepullbackoff", JobState::pending, "a pod's image cannot be pulled"},
    State{"errimagepull", JobState::pending, "a pod's image cannot be pulled"},
    State{"crashloopbackoff", JobState::starting, "a pod ends repeatedly"},
};

const State* state_of(std::string_view word) {
  const std::string small = lower(word);
  const auto found = std::ranges::find(states, small, &State::word);
  return found == states.end() ? nullptr : &*found;
}

void set_state(Job& job, std::string_view word) {
  job.state_word = std::string(word);
  const State* const known = state_of(word);
  job.state = known == nullptr ? JobState::unknown : known->state;
  if (job.state == JobState::pending) job.reason = job.state_word;
}

void set_name(Job& job, std::string name) {
  job.id = job.name = job.number = std::move(name);
  job.source = "runai";
}

Result<json> parse(std::string_view text) {
  json value = json_in(text);
  if (value.is_object()) return value;
  return not_understood(text, "JSON", list_fix);
}

// An array or object within an object; of another type, or absent: an empty one.
const json& within(const json& object, std::string_view key) {
  static const json nothing = json::object();
  const json& found = member(object, key);
  return found.is_structured() ? found : nothing;
}

Job job_of(const json& workload) {
  Job job;
  set_name(job, text_at(workload, "name"));
  set_state(job, text_at(workload, "phase"));
  job.partition = text_at(workload, "projectName");
  job.user = text_at(workload, "submittedBy");
  if (std::string why = text_at(workload, "phaseMessage"); !why.empty()) {
    job.reason = std::move(why);
  }
  job.submitted = time_in(text_at(workload, "createdAt"));
  if (has_ended(job.state)) {
    job.ended = time_in(text_at(workload, "completedAt"));
    if (!job.ended) job.ended = time_in(text_at(workload, "updatedAt"));
  }
  return job;
}

void add_pods(Job& job, const json& pods, std::string_view node_key) {
  std::vector<std::string> nodes;
  for (const json& pod : pods) {
    if (!pod.is_object()) continue;
    ++job.nodes;
    if (std::string node = text_at(pod, node_key); !node.empty()) nodes.push_back(std::move(node));
  }
  job.node_list = join(nodes, ",");
}

JobPod pod_of(const json& reported) {
  JobPod pod;
  pod.name = text_at(reported, "name");
  const std::string status = text_at(reported, "status");
  if (!status.empty() && lower(status) != "running") pod.trouble = status;
  return pod;
}

// A master, then the workers by their number.
bool is_before(const JobPod& a, const JobPod& b) {
  const auto client = [](const JobPod& pod) {
    const auto role = kubernetes::role_in(pod.name);
    return std::tuple(!role || !role->is_master, role ? role->number : 0, pod.name);
  };
  return client(a) < client(b);
}

}  // namespace

std::string_view state_words(std::string_view state_word) {
  const State* const known = state_of(state_word);
  return known == nullptr ? std::string_view() : known->words;
}

Result<std::vector<Job>> parse_table(std::string_view text) {
  const auto lines = split(text, '\n');
  const auto header = std::ranges::find_if(lines, [](std::string_view line) {
    return line.starts_with("NAME ") && line.contains(" STATUS ");
  });
  if (header == lines.end()) return not_understood(text, "a table", list_fix);
  std::vector<Job> jobs;
  for (auto line = header + 1; line != lines.end(); ++line) {
    if (trim(*line).empty()) continue;
    Job job;
    set_name(job, cell(*line, column(*header, "NAME")));
    set_state(job, cell(*line, column(*header, "STATUS")));
    job.partition = cell(*line, column(*header, "PROJECT"));
    job.user = cell(*line, column(*header, "USER"));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

std::string last_warning(std::string_view description) {
  constexpr std::string_view mark = "  Warning  ";
  std::string last;
  for (const std::string_view line : split(description, '\n')) {
    const std::size_t type = line.find(mark);
    const std::size_t message = line.find('[', type == std::string_view::npos ? 0 : type);
    if (type == std::string_view::npos || message == std::string_view::npos) continue;
    last = trim(line.substr(message));
  }
  return last;
}

Result<std::vector<Job>> parse_list(std::string_view text) {
  const auto value = TRY(parse(text));
  std::vector<Job> jobs;
  for (const json& workload : within(value, "workloads")) {
    if (workload.is_object()) jobs.push_back(job_of(workload));
  }
  return jobs;
}

Result<Job> parse_description(std::string_view text) {
  const auto value = TRY(parse(text));
  if (value.contains("general")) {
    Job job = job_of(within(value, "general"));
    add_pods(job, within(within(value, "podsInfo"), "pods"), "nodeName");
    return job;
  }
  Job job;
  set_name(job, text_at(value, "name"));
  set_state(job, text_at(value, "status"));
  add_pods(job, within(value, "instances"), "node");
  return job;
}

Result<std::vector<JobPod>> parse_pods(std::string_view text) {
  const auto value = TRY(parse(text));
  const bool is_v2 = value.contains("general");
  const json& reported =
      is_v2 ? within(within(value, "podsInfo"), "pods") : within(value, "instances");
  std::vector<JobPod> pods;
  for (const json& pod : reported) {
    if (pod.is_object() && !text_at(pod, "name").empty()) pods.push_back(pod_of(pod));
  }
  std::ranges::sort(pods, is_before);
  return pods;
}

}  // namespace toprun::engines::runai
