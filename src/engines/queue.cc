#include "engines/queue.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/text/text.h"
#include "engines/kubernetes/kubernetes_queue.h"
#include "engines/kubernetes/object_name.h"
#include "engines/runai/runai_queue.h"
#include "engines/slurm/slurm_queue.h"

namespace toprun::engines {
namespace {

constexpr int code_of_a_signal = 128;
constexpr std::size_t longest_id = 1'024;
constexpr int longest_timeout_s = 3'600;

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 20 &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_task(std::string_view text) {
  if (!text.starts_with('[')) return is_number(text);
  return text.ends_with(']') && text.size() > 2 &&
         text.substr(1, text.size() - 2).find_first_not_of("0123456789-,:%") ==
             std::string_view::npos;
}

using FindQueue = Result<std::unique_ptr<Queue>> (*)(const Environment&);
struct EngineQueue {
  QueueKind kind;
  std::string_view name;
  std::string_view programs;  // "squeue and scontrol are"
  bool has_pods;
  FindQueue find;  // nullptr in it: the engine's programs are not in PATH
};
// The engines that are looked for by their programs, in this order. Slurm's jobs alone have
// numbers.
constexpr std::array engine_queues = {
    EngineQueue{QueueKind::slurm, "slurm", "squeue and scontrol are", false, slurm_queue},
    EngineQueue{QueueKind::runai, "runai", "runai is", true, runai_queue},
    EngineQueue{QueueKind::kubernetes, "kubernetes", "kubectl is", true, kubernetes_queue},
};

const EngineQueue& row_of(QueueKind kind) {
  return *std::ranges::find(engine_queues, kind, &EngineQueue::kind);
}

Error unknown(std::string what, std::string_view word, const char* otherwise) {
  const auto meant = nearest_engine(word);
  return usage(std::move(what), "toprun knows the engines slurm, runai and kubernetes",
               meant ? fmt::format("did you mean {}?", *meant) : otherwise)
      .error();
}

// The one that TOPRUN_ON names, else the first that is there.
Result<std::unique_ptr<Queue>> first_queue(const Environment& environment,
                                           std::span<const EngineQueue> among) {
  const std::string on = environment.get("TOPRUN_ON").value_or("");
  const bool is_for_setup = on == "local";
  const std::optional<QueueKind> kind = queue_kind(on);
  if (!on.empty() && !is_for_setup && !kind) {
    return std::unexpected(
        unknown("TOPRUN_ON=" + printable(on), on, "give one of them, or unset the variable"));
  }
  const auto named = std::ranges::find(among, kind, &EngineQueue::kind);
  if (named != among.end()) {
    auto queue = named->find(environment);
    if (!queue || *queue) return queue;
    return fail("engine " + on, fmt::format("{} not in PATH", named->programs),
                "load the site's module, or name another engine with --on or TOPRUN_ON");
  }
  for (const EngineQueue& engine : among) {
    auto queue = engine.find(environment);
    if (!queue || *queue) return queue;
  }
  return std::unique_ptr<Queue>();
}

}  // namespace

std::string_view name_of(QueueKind kind) {
  return row_of(kind).name;
}

std::optional<QueueKind> queue_kind(std::string_view name) {
  if (name == "k8s") return QueueKind::kubernetes;
  const auto row = std::ranges::find(engine_queues, name, &EngineQueue::name);
  return row == engine_queues.end() ? std::nullopt : std::optional(row->kind);
}

std::optional<std::string> nearest_engine(std::string_view word) {
  std::vector<std::string> names;
  for (const EngineQueue& engine : engine_queues) names.emplace_back(engine.name);
  return did_you_mean(word, names);
}

Error unknown_engine(std::string what, std::string_view word) {
  return unknown(std::move(what), word, "give one of them");
}

bool has_pods(QueueKind kind) {
  return row_of(kind).has_pods;
}

Result<std::chrono::milliseconds> engine_timeout_of(const Environment& environment) {
  const auto text = environment.non_empty("TOPRUN_ENGINE_TIMEOUT");
  if (!text) return engine_timeout;
  const auto seconds = parse_double(*text);
  if (seconds && *seconds > 0 && *seconds <= longest_timeout_s) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(*seconds * 1'000) + 1);
  }
  return usage(fmt::format("TOPRUN_ENGINE_TIMEOUT={}", *text),
               fmt::format("the time must be from 0 to {} seconds", longest_timeout_s),
               "unset the variable: the default is 30");
}

Result<std::vector<JobPod>> Queue::pods(const Job& job) const {
  return usage("job " + job.id, fmt::format("{} has no pods", engine_in_words()),
               fmt::format("open a shell in the job with toprun shell --attach {}", job.id));
}

// In a pod toprun is its image's own, and no other job is there.
Result<std::vector<std::string>> Queue::command_beside_root(
    const Job& job, const std::string&, const std::vector<std::string>& words) const {
  const auto all = TRY(pods(job));
  const std::string what = fmt::format("cannot ask job {}", job.id);
  if (all.empty()) return fail(what, "the job has no pod");
  if (!all.front().trouble.empty()) return fail(what, all.front().trouble);
  std::vector<std::string> command = exec_command(job, all.front(), Terminal::no);
  command.emplace_back("toprun");
  command.insert(command.end(), words.begin(), words.end());
  return command;
}

bool has_ended(JobState state) {
  return state == JobState::completed || state == JobState::failed || state == JobState::cancelled;
}

bool has_several_tasks(const Job& job) {
  return job.task.find_first_not_of("0123456789") != std::string::npos;
}

bool is_without_tasks(const Job& job) {
  return !job.array.empty() && job.task.empty();
}

std::optional<int> exit_code_of(const Job& job) {
  if (!has_ended(job.state)) return std::nullopt;
  if (job.state == JobState::completed) return 0;
  if (job.end == JobEnd::time_limit) return exit_time_limit;
  if (job.end == JobEnd::preemption) return exit_preempted;
  if (job.end == JobEnd::dependency || job.end == JobEnd::refused) return exit_not_started;
  if (job.exit_code && *job.exit_code != 0) return *job.exit_code;
  if (job.state == JobState::cancelled) return exit_cancelled;
  return job.signal ? code_of_a_signal + *job.signal : exit_failure;
}

std::string_view name_behind_kind(std::string_view text) {
  constexpr std::array<std::string_view, 5> kinds = {"job", "pytorchjob", "trainjob", "jobset",
                                                     "mpijob"};
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return {};
  std::string_view kind = text.substr(0, std::min(slash, text.find('.')));
  if (kind.ends_with('s')) kind.remove_suffix(1);
  const std::string_view name = text.substr(slash + 1);
  const bool is_named = std::ranges::find(kinds, lower(kind)) != kinds.end();
  return is_named && kubernetes::is_label(name) ? name : std::string_view();
}

Result<JobId> parse_job_id(std::string_view text) {
  const auto wrong = [&](std::string why) {
    return usage(
        fmt::format("job id {}", text.empty() ? "''" : text.substr(0, 80)), std::move(why),
        "give an id from squeue (17, or 12_3 for a task of an array), or a name from Kubernetes");
  };
  if (text.empty()) return wrong("it is empty");
  if (text.size() > longest_id) return wrong("it is too long");
  if (kubernetes::is_label(text)) return JobId{std::string(text), {}, {}};
  if (const std::string_view name = name_behind_kind(text); !name.empty()) {
    return usage(fmt::format("job id {}", text.substr(0, 80)),
                 "toprun takes the job's name alone, without its kind",
                 fmt::format("write {}", name));
  }
  if (text.contains('/') || text.ends_with(".json")) {
    return wrong("it looks like the path of a file, not like the id of a job");
  }
  if (is_number(text.substr(0, text.find_first_of("_+."))) && text.contains('.')) {
    return wrong("this is the id of a step, not of a job");
  }
  const std::size_t end = text.find_first_of("_+");
  const std::string_view number = text.substr(0, end);
  if (!is_number(number)) return wrong("it is not a job's number");
  JobId id{std::string(text), std::string(number), {}};
  if (end == std::string_view::npos) return id;
  const std::string_view rest = text.substr(end + 1);
  if (text[end] == '+' ? !is_number(rest) : !is_task(rest)) return wrong("no number follows");
  if (text[end] == '_') id.task = std::string(rest);
  return id;
}

Result<std::unique_ptr<Queue>> find_queue(const Environment& environment) {
  if (auto queue = first_queue(environment, engine_queues); !queue || *queue) return queue;
  return fail("found neither Slurm nor Run:AI nor Kubernetes",
              "squeue, scontrol, runai and kubectl are not in PATH",
              "log in to a node from which jobs are submitted, or load the site's module (often "
              "`module load slurm`)");
}

Result<std::unique_ptr<Queue>> find_queue_of(const JobId& id, const Environment& environment) {
  if (!id.number.empty()) return find_queue(environment);
  const std::span of_names = std::span(engine_queues).subspan(1);
  if (auto queue = first_queue(environment, of_names); !queue || *queue) return queue;
  if (id.has_pods) {
    return fail("neither runai nor kubectl is in PATH", {}, "install runai or kubectl");
  }
  if (auto of_slurm = slurm_job_by_name(id.text, environment)) {
    return std::unexpected(*std::move(of_slurm));
  }
  return fail(
      "this is not a Slurm job id; it could be the name of a Run:AI or Kubernetes job, but neither "
      "runai nor kubectl is in PATH",
      {}, "log in where jobs are submitted, or install runai or kubectl");
}

}  // namespace toprun::engines
