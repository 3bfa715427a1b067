#include <unistd.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/os/console.h"
#include "base/text/text.h"
#include "cli/jobs/job_summary.h"
#include "cli/jobs/job_words.h"
#include "cli/jobs/known_job.h"
#include "cli/jobs/waiting.h"
#include "cli/verbs/run_verbs.h"

namespace toprun::cli {
namespace {

using options::FlagId;

using engines::Job;
using engines::JobState;
using nlohmann::json;

// Other words than "running" may end with a program's own, which the time must not follow.
std::string words_of(const Job& job, const std::string& words) {
  if (!job.started || has_ended(job.state)) return words;
  const std::string at = time_text(*job.started);
  if (words.starts_with("running")) return fmt::format("{}, started at {}", words, at);
  return fmt::format("{} {}; {}", job.state == JobState::running ? "runs since" : "started at", at,
                     words);
}

std::string text_of(const engines::Queue& queue, const Job& job,
                    const std::vector<std::string>& lines) {
  std::string text = fmt::format("job {} ({}): ", printable(job.id), printable(job.name));
  if (lines.empty()) {
    text += words_of(job, jobs::summary_of(jobs::known_job(queue, job)).words);
    const std::string progress = job.progress ? jobs::progress_text(*job.progress) : "";
    if (!progress.empty()) text += "; " + progress;
    return text + '\n';
  }
  text += lines.back() + '\n';
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) text += "  " + lines[i] + '\n';
  return text;
}

json json_of(const engines::Queue& queue, const Job& job, const jobs::Waiting& waiting,
             const std::vector<std::string>& lines) {
  json out = jobs::job_json(queue, job);
  out["expected_start"] = or_null(waiting.start);
  out["waits_for"] = lines;
  return out;
}

json json_of(const jobs::KnownJob& forgotten) {
  json out = jobs::forgotten_json(forgotten);
  out["expected_start"] = nullptr;
  out["waits_for"] = json::array();
  return out;
}

// The tasks of a named array that only their files still tell of. The engine may keep a record of
// the array without a task.
Result<std::vector<jobs::FoundFiles>> left_of(const std::string& text, const engines::Queue& queue,
                                              std::vector<Job>& jobs) {
  const auto id = TRY(engines::parse_job_id(text));
  auto left = jobs::forgotten_tasks(queue, id, jobs);
  if (!left.empty()) std::erase_if(jobs, engines::is_without_tasks);
  return left;
}

// What the engine says of jobs, and jobs that only their files still tell of.
struct Answer {
  std::vector<Job> jobs;
  std::vector<jobs::KnownJob> forgotten;
};

Result<Answer> find(const engines::Queue& queue, const std::string& id) {
  auto jobs = jobs::jobs_of(queue, id);
  if (!jobs) {
    Answer found{{}, jobs::forgotten_jobs(queue, id)};
    if (found.forgotten.empty()) return std::unexpected(jobs.error());
    return found;
  }
  Answer found;
  for (const jobs::FoundFiles& task : TRY(left_of(id, queue, *jobs))) {
    found.forgotten.push_back(jobs::forgotten_job(task));
  }
  found.jobs = *std::move(jobs);
  return found;
}

// All of this user's that wait.
Result<Answer> find_waiting(const engines::Queue& queue) {
  auto jobs = TRY(queue.jobs(::getuid()));
  for (const std::string& line : jobs.untold) say(line);
  std::erase_if(jobs.jobs, [](const Job& job) { return job.state != JobState::pending; });
  return Answer{std::move(jobs.jobs), {}};
}

// What the words of the command line name.
struct Named {
  std::vector<std::string> ids;           // all of Slurm, or all of jobs with names
  std::vector<jobs::KnownJob> forgotten;  // by their folders
  int code = 0;                           // of the words that were reported
};

// Jobs that are not known are reported; `code` is then their exit code.
Result<Answer> find_all(const engines::Queue& queue, const Named& named, bool is_alone, int& code) {
  Answer all{{}, named.forgotten};
  for (const std::string& id : named.ids) {
    auto found = find(queue, id);
    if (!found && is_alone) return found;
    if (!found) {
      code = std::max(code, give_up(found.error()));
      continue;
    }
    std::ranges::move(found->jobs, std::back_inserter(all.jobs));
    std::ranges::move(found->forgotten, std::back_inserter(all.forgotten));
  }
  return all;
}

// A word that names no job is reported.
Result<Named> named_in(const options::Call& call) {
  Named named;
  std::optional<bool> have_names;
  for (const std::string& word : call.split.arguments) {
    const auto job = jobs::job_at(word, call.environment);
    if (job && job->is_forgotten) {
      std::ranges::move(jobs::known_by_files(*job), std::back_inserter(named.forgotten));
      continue;
    }
    const auto text = jobs::id_of(word, job);
    const auto id = text ? jobs::job_id_in(*text, call.environment) : std::unexpected(text.error());
    if (!id) {
      named.code = std::max(named.code, give_up(id.error()));
      continue;
    }
    named.ids.push_back(*text);
    if (have_names.value_or(id->number.empty()) != id->number.empty()) {
      return usage(join(named.ids, " "), "these jobs are of different engines",
                   "ask for each engine's jobs by a command of its own");
    }
    have_names = id->number.empty();
  }
  return named;
}

}  // namespace

Result<int> run_eta(const options::Call& call) {
  const Environment& environment = call.environment;
  const std::size_t words = call.split.arguments.size();
  const Named named = TRY(named_in(call));
  if (words != 0 && named.ids.empty() && named.forgotten.empty()) return named.code;
  const auto queue = TRY(named.ids.empty() ? engines::find_queue(environment)
                                           : jobs::queue_of(named.ids.front(), environment));
  int code = named.code;
  const Answer found =
      TRY(words == 0 ? find_waiting(*queue) : find_all(*queue, named, words == 1, code));
  const auto starts =
      TRY(queue->starts(words == 0 ? std::optional<std::uint32_t>(::getuid()) : std::nullopt));
  const bool are_compared = std::ranges::any_of(found.jobs, jobs::needs_others);
  const auto all = TRY(are_compared ? queue->jobs(std::nullopt) : engines::JobList());
  const WallTime now = std::chrono::system_clock::now();
  std::string text;
  json list = json::array();
  for (const Job& job : found.jobs) {
    const jobs::Waiting waiting = jobs::waiting(*queue, job, starts, all.jobs, now);
    const auto lines = jobs::lines_of(waiting, job, now);
    text += text_of(*queue, job, lines);
    list.push_back(json_of(*queue, job, waiting, lines));
  }
  for (const jobs::KnownJob& job : found.forgotten) {
    text += jobs::forgotten_text(job, queue.get()) + '\n';
    list.push_back(json_of(job));
  }
  if (call.has(FlagId::json)) {
    const json document = {
        {"schema", "toprun.eta/1"}, {"engine", queue->engine()}, {"jobs", std::move(list)}};
    const int printed = print_bytes(json_text(document, 2) + '\n');
    return printed != 0 ? printed : code;
  }
  if (text.empty() && code == 0) say("none of your jobs waits");
  const int printed = print(text);
  return printed != 0 ? printed : code;
}

}  // namespace toprun::cli
