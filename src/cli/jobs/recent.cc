#include "cli/jobs/recent.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/os/console.h"
#include "base/text/text.h"
#include "cli/jobs/job_files.h"
#include "cli/jobs/job_story.h"
#include "cli/jobs/job_summary.h"
#include "cli/jobs/known_job.h"
#include "observe/report/columns.h"

namespace toprun::jobs {
namespace {

namespace fs = std::filesystem;
using engines::Job;
using nlohmann::json;

constexpr std::size_t widest_recent_name = 24;

EndedJob ended_job(const KnownJob& known) {
  JobSummary what = summary_of(known);
  const auto& submitted = known.story.submitted;
  const auto latest = what.ended || !submitted ? what.ended : std::optional(submitted->at);
  return {known.id,
          std::move(what.name),
          what.ended,
          latest,
          what.exit_code,
          what.was_cancelled_unstarted,
          std::move(what.words),
          std::move(what.words_beside_code)};
}

EndedJob known_to_engine(const engines::Queue& queue, const Job& job,
                         const std::vector<FoundFiles>& left) {
  KnownJob known = known_job(queue, job);
  const auto files = std::ranges::find(left, job.id, &FoundFiles::id);
  if (!known.files && files != left.end()) known = with_files(std::move(known), files->files);
  return ended_job(known);
}

// When this file was last written; nullopt: it is not this user's.
std::optional<WallTime> last_write(const std::string& path, std::uint32_t uid) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || status.st_uid != uid) return std::nullopt;
  return std::chrono::system_clock::from_time_t(status.st_mtime);
}

// Whether it is surely a file of Slurm's: other programs write files as "loss.100.out".
bool is_of_slurm(const KnownJob& known) {
  const bool has_usual_name =
      !known.files->own.empty() &&
      fs::path(known.files->own.front()).filename().string().starts_with("slurm-");
  return known.has_output && (has_usual_name || known.story.submitted || known.report);
}

// `is_asked`: the engine does not know the job. nullopt: the files do not tell that it has ended,
// as a job that may still run.
std::optional<EndedJob> by_its_files(const FoundFiles& found, bool is_asked, std::uint32_t uid) {
  const KnownJob known = forgotten_job(found);
  if (summary_of(known).is_over) return ended_job(known);
  if (!is_asked || !is_of_slurm(known)) return std::nullopt;
  const auto written =
      last_write(found.files.own.empty() ? found.files.folder : found.files.own.front(), uid);
  if (!written) return std::nullopt;
  EndedJob job = ended_job(known);
  if (!job.latest || *job.latest < *written) job.latest = written;
  return job;
}

// Whether one of these jobs is the job with this id, or is a component of it.
bool are_with(const std::vector<Job>& jobs, const std::string& id) {
  return std::ranges::any_of(jobs,
                             [&](const Job& job) { return job.id == id || job.het_leader == id; });
}

// Without the tasks of its array that the engine knows. nullopt: the engine knows all of them, or
// perhaps.
std::optional<FoundFiles> rest_of(const FoundFiles& found, const std::vector<Job>& active,
                                  const std::vector<Job>& ended) {
  if (are_with(active, found.id) || are_with(ended, found.id)) return std::nullopt;
  const std::string array = found.id.substr(0, found.id.find('_'));
  if (array == found.id) return found;
  TaskNumbers known;
  for (const std::vector<Job>* jobs : {&active, &ended}) {
    for (const Job& job : *jobs) {
      if (job.array != array || job.task.empty()) continue;
      const auto tasks = parse_tasks(job.task);
      if (!tasks) return std::nullopt;  // Slurm has shortened the list
      known = all_tasks(known, *tasks);
    }
  }
  return without_tasks(found, array, known);
}

// Beside the tasks of its array, a record without tasks is not a job of its own.
bool is_remainder(const Job& job, const std::vector<Job>& active,
                  const std::vector<FoundFiles>& left) {
  if (!is_without_tasks(job)) return false;
  return std::ranges::find(active, job.array, &Job::array) != active.end() ||
         std::ranges::any_of(
             left, [&](const FoundFiles& found) { return found.id.starts_with(job.array + "_"); });
}

}  // namespace

Result<std::vector<EndedJob>> ended_jobs(const engines::Queue* queue, std::uint32_t uid,
                                         std::size_t most) {
  std::vector<EndedJob> all;
  std::vector<Job> ended, active;
  if (queue != nullptr) {
    // In this order, because a job may end between the two queries.
    auto others = TRY(queue->jobs(uid));
    active = std::move(others.jobs);
    auto answer = TRY(queue->ended(uid));
    ended = std::move(answer.jobs);
    for (const std::string& line : answer.untold) say(line);
  }
  const auto left = all_files(likely_folders({}));
  for (const Job& job : ended) {
    if (!is_remainder(job, active, left)) all.push_back(known_to_engine(*queue, job, left));
  }
  for (const FoundFiles& found : left) {
    const auto rest = rest_of(found, active, ended);
    if (!rest || std::ranges::find(all, rest->id, &EndedJob::id) != all.end()) continue;
    const bool is_asked = queue != nullptr && queue->kind() == engines::QueueKind::slurm;
    if (auto job = by_its_files(*rest, is_asked, uid)) all.push_back(*std::move(job));
  }
  std::ranges::stable_sort(all, [](const EndedJob& a, const EndedJob& b) {
    return a.latest != b.latest ? a.latest > b.latest : natural_less(b.id, a.id);
  });
  if (all.size() > most) all.resize(most);
  return all;
}

std::string recent_table(const std::vector<EndedJob>& jobs, const Style& style) {
  std::vector<std::vector<std::string>> rows = {{"JOBID", "NAME", "ENDED", "CODE", "HOW"}};
  for (const EndedJob& job : jobs) {
    rows.push_back(
        {printable(job.id),
         job.name.empty() ? "-" : both_ends(printable(job.name), widest_recent_name),
         job.ended ? time_text(*job.ended) : "-",
         job.exit_code && !job.was_cancelled_unstarted ? fmt::to_string(*job.exit_code) : "-",
         printable(job.how_beside_code)});
  }
  const std::string table = report::columns_text(rows, {0, 3});
  const auto lines = split(table, '\n');
  std::string text = fmt::format("{}\n", lines[0]);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Colour colour = jobs[i].exit_code == 0 ? Colour::good : Colour::bad;
    text += coloured(both_ends(lines[i + 1], style.columns), colour, style) + '\n';
  }
  return text;
}

json recent_json(const EndedJob& job) {
  return {{"id", job.id},
          {"name", or_null(job.name)},
          {"ended", or_null(job.ended)},
          {"exit_code", or_null(job.exit_code)},
          {"cause", or_null(job.how)}};
}

}  // namespace toprun::jobs
