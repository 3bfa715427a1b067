#include "engines/runai/runai_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/text/text.h"
#include "engines/kubernetes/json_object.h"
#include "engines/kubernetes/kubernetes_jobs.h"
#include "engines/kubernetes/object_name.h"

namespace toprun::engines::runai {

std::optional<Column> column(std::string_view header, std::string_view name) {
  const std::size_t begin = header.find(name);
  if (begin == std::string_view::npos) return std::nullopt;
  std::size_t end = header.find("  ", begin);
  if (end == std::string_view::npos) return Column{begin, end};
  return Column{begin, header.find_first_not_of(' ', end)};
}

std::string cell(std::string_view line, const std::optional<Column>& column) {
  if (!column || column->begin >= line.size()) return {};
  const std::size_t length =
      column->end == std::string_view::npos ? std::string_view::npos : column->end - column->begin;
  return std::string(trim(line.substr(column->begin, length)));
}

std::unexpected<Error> not_understood(std::string_view text, std::string_view requested,
                                      std::string fix) {
  constexpr std::size_t most_shown = 80;
  return fail(
      "cannot ask Run:AI",
      fmt::format("runai did not print {}: {}", requested, printable(text.substr(0, most_shown))),
      std::move(fix));
}

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

constexpr const char* version_fix = "set TOPRUN_RUNAI_CLI to v1 or v2, the version of this runai";
constexpr std::string_view separator = "│";

std::vector<std::string_view> groups_of(std::string_view line) {
  std::vector<std::string_view> groups;
  while (true) {
    const std::size_t end = line.find(separator);
    groups.push_back(trim(line.substr(0, end)));
    if (end == std::string_view::npos) return groups;
    line.remove_prefix(end + separator.size());
  }
}

// The word under a heading, where headings and values are single words.
std::string under(std::string_view heading, std::string_view headings, std::string_view values) {
  const auto names = words(headings);
  const auto cells = words(values);
  const auto found = static_cast<std::size_t>(std::ranges::find(names, heading) - names.begin());
  return found < cells.size() && found < names.size() ? std::string(cells[found]) : std::string();
}

void set_usable(ClusterNode& node, std::string_view status) {
  node.state = status.empty() ? "not ready" : lower(status);
  node.usable = node.state == "ready";
}

ClusterNode node_in(std::string_view line, const std::vector<std::string_view>& headings,
                    std::size_t of_gpus) {
  const auto cells = groups_of(line);
  ClusterNode node;
  node.partitions = {""};
  node.name = under("NAME", headings.front(), cells.front());
  set_usable(node, under("STATUS", headings.front(), cells.front()));
  if (of_gpus >= cells.size()) return node;
  const auto count = [&](std::string_view heading) {
    const auto number = parse_double(under(heading, headings[of_gpus], cells[of_gpus]));
    return std::max<std::int64_t>(0, static_cast<std::int64_t>(number.value_or(0)));
  };
  node.gpus = count("ALLOCATABLE");
  node.used_gpus = node.gpus - std::min(node.gpus, count("FREE"));
  node.idle = node.usable && node.gpus > 0 && node.used_gpus == 0;
  return node;
}

Result<std::vector<ClusterNode>> nodes_in_table(std::string_view text) {
  const auto lines = split(text, '\n');
  const auto header = std::ranges::find_if(lines, [](std::string_view line) {
    return line.starts_with("NAME ") && line.contains(separator);
  });
  if (header == lines.end() || header == lines.begin())
    return not_understood(text, "a table", version_fix);
  const auto titles = groups_of(*(header - 1));
  const auto of_gpus = static_cast<std::size_t>(std::ranges::find(titles, "GPU") - titles.begin());
  const auto headings = groups_of(*header);
  std::vector<ClusterNode> nodes;
  for (auto line = header + 1; line != lines.end(); ++line) {
    if (!line->contains(separator) || line->starts_with("─")) continue;
    nodes.push_back(node_in(*line, headings, std::min(of_gpus, headings.size())));
  }
  return nodes;
}

// The array in what v2 prints, whatever it is the value of.
Result<json> list_in(std::string_view text) {
  json value = json_in(text);
  if (value.is_array()) return value;
  if (!value.is_object()) return not_understood(text, "JSON", version_fix);
  for (const json& member : value) {
    if (member.is_array()) return member;
  }
  return not_understood(text, "a list", version_fix);
}

ClusterNode node_of(const json& reported) {
  ClusterNode node;
  node.name = kubernetes::text_at(reported, {"name"});
  node.partitions = {kubernetes::text_at(reported, {"nodePool"})};
  set_usable(node, kubernetes::text_at(reported, {"status"}));
  node.gpus = std::max<std::int64_t>(0, kubernetes::number_at(reported, {"gpuInfo", "gpuCount"}));
  node.gpu_kind = kubernetes::text_at(reported, {"gpuInfo", "gpuType"});
  return node;
}

AdmissionQueue project_of(const json& reported) {
  AdmissionQueue project;
  project.name = kubernetes::text_at(reported, {"name"});
  for (const json& pool : kubernetes::at(reported, {"resources"})) {
    const json& deserved = kubernetes::at(pool, {"gpu", "deserved"});
    if (deserved.is_number()) {
      project.gpus = project.gpus.value_or(0) + deserved.get<double>();
    }
  }
  return project;
}

Result<std::vector<AdmissionQueue>> projects_in_table(std::string_view text) {
  const auto lines = split(text, '\n');
  const auto header = std::ranges::find_if(
      lines, [](std::string_view line) { return line.starts_with("PROJECT "); });
  if (header == lines.end()) return not_understood(text, "a table", version_fix);
  std::vector<AdmissionQueue> projects;
  for (auto line = header + 1; line != lines.end() && !trim(*line).empty(); ++line) {
    AdmissionQueue project;
    // "mlo (default)"
    const std::string name = cell(*line, column(*header, "PROJECT"));
    project.name = name.substr(0, name.find(' '));
    project.serves = cell(*line, column(*header, "DEPARTMENT"));
    project.gpus = parse_double(cell(*line, column(*header, "DESERVED GPUs")));
    projects.push_back(std::move(project));
  }
  return projects;
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

Result<std::vector<ClusterNode>> parse_nodes(std::string_view text, Cli cli) {
  if (cli == Cli::v1) return nodes_in_table(text);
  const auto list = TRY(list_in(text));
  std::vector<ClusterNode> nodes;
  for (const json& reported : list) nodes.push_back(node_of(reported));
  return nodes;
}

Result<std::vector<AdmissionQueue>> parse_projects(std::string_view text, Cli cli) {
  if (cli == Cli::v1) return projects_in_table(text);
  const auto list = TRY(list_in(text));
  std::vector<AdmissionQueue> projects;
  for (const json& reported : list) projects.push_back(project_of(reported));
  return projects;
}

}  // namespace toprun::engines::runai
