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

Result<engines::JobList> asked_for(const engines::Queue& queue, const std::string& text) {
  if (text.empty()) return queue.jobs(::getuid());
  auto jobs = TRY(jobs::jobs_of(queue, text));
  return engines::JobList{std::move(jobs), {}};
}

std::string text_of(const engines::Queue& queue, const Job& job,
                    const std::vector<std::string>& lines) {
  std::string text = fmt::format("job {} ({}): ", printable(job.id), printable(job.name));
  if (lines.empty()) {
    const std::string words = jobs::summary_of(jobs::known_job(queue, job)).words;
    if (!job.started) {
      text += words;
    } else if (words.starts_with("hangs ")) {
      text += fmt::format("runs since {}; {}", time_text(*job.started), words);
    } else {
      text += fmt::format("{}, started at {}", words, time_text(*job.started));
    }
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

// The tasks of a named array that only their files still tell of. The engine may keep a record of
// the array without a task.
Result<std::vector<jobs::FoundFiles>> left_of(const std::string& text, const engines::Queue& queue,
                                              std::vector<Job>& jobs) {
  if (text.empty()) return {};
  const auto id = TRY(jobs::job_id_in(text));
  auto left = jobs::forgotten_tasks(queue, id, jobs);
  if (!left.empty()) std::erase_if(jobs, engines::is_without_tasks);
  return left;
}

// Of a job that only its files still tell of.
Result<int> tell_of_forgotten(const std::vector<jobs::KnownJob>& known,
                              const engines::Queue& queue) {
  std::string text;
  for (const jobs::KnownJob& job : known) text += jobs::forgotten_text(job, &queue) + '\n';
  return print(text);
}

}  // namespace

Result<int> run_eta(const options::Call& call) {
  const Environment& environment = call.environment;
  const std::string id = jobs::id_at(call.operand(), call.environment);
  const auto queue =
      TRY(id.empty() ? engines::find_queue(environment) : jobs::queue_of(id, environment));
  auto jobs = asked_for(*queue, id);
  if (!jobs) {
    const auto forgotten = jobs::forgotten_jobs(*queue, id);
    if (forgotten.empty() || call.has(FlagId::json)) return std::unexpected(jobs.error());
    return tell_of_forgotten(forgotten, *queue);
  }
  const auto left = TRY(left_of(id, *queue, jobs->jobs));
  const auto starts =
      TRY(queue->starts(id.empty() ? std::optional<std::uint32_t>(::getuid()) : std::nullopt));
  const bool are_compared = std::ranges::any_of(jobs->jobs, jobs::needs_others);
  const auto all = TRY(are_compared ? queue->jobs(std::nullopt) : engines::JobList());
  for (const std::string& line : jobs->untold) say(line);
  const WallTime now = std::chrono::system_clock::now();
  std::string text;
  json list = json::array();
  for (const Job& job : jobs->jobs) {
    if (id.empty() && job.state != JobState::pending) continue;
    const jobs::Waiting waiting = jobs::waiting(*queue, job, starts, all.jobs, now);
    const auto lines = jobs::lines_of(waiting, job, now);
    text += text_of(*queue, job, lines);
    list.push_back(json_of(*queue, job, waiting, lines));
  }
  for (const jobs::FoundFiles& task : left) {
    text += jobs::forgotten_text(jobs::forgotten_job(task), queue.get()) + '\n';
  }
  if (call.has(FlagId::json)) {
    const json document = {
        {"schema", "toprun.eta/1"}, {"engine", queue->engine()}, {"jobs", std::move(list)}};
    return print_bytes(json_text(document, 2) + '\n');
  }
  if (text.empty()) say("none of your jobs waits");
  return print(text);
}

}  // namespace toprun::cli
