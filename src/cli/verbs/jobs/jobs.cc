#include <unistd.h>

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/os/console.h"
#include "base/os/style.h"
#include "base/text/text.h"
#include "cli/jobs/job_words.h"
#include "cli/jobs/live_status.h"
#include "cli/jobs/recent.h"
#include "cli/jobs/waiting.h"
#include "cli/verbs/run_verbs.h"

namespace toprun::cli {
namespace {

using options::Call;
using options::FlagId;

constexpr std::size_t most_ended = 20;

using Glances = std::map<std::string, jobs::LiveStatus>;

std::string words_of(const engines::Queue& queue, const engines::Job& job) {
  return jobs::summary_of(jobs::without_files(queue, job)).words;
}

// Empty where the files do not answer, or it would only repeat the column ST.
std::string status_of(const engines::Queue& queue, const engines::Job& job,
                      const Glances& live_statuses) {
  if (!jobs::is_looked_at(job, ::getuid())) {
    std::string words = words_of(queue, job);
    return job.state_code.empty() && words == lower(job.state_word) ? std::string() : words;
  }
  const auto glance = live_statuses.find(job.id);
  return glance == live_statuses.end() ? std::string() : jobs::text_of(glance->second);
}

nlohmann::json json_of(const engines::Queue& queue, const engines::Job& job,
                       const Glances& live_statuses) {
  nlohmann::json out = jobs::job_json(queue, job);
  const auto glance = live_statuses.find(job.id);
  const bool known = glance != live_statuses.end();
  const std::string words = known                                 ? glance->second.words
                            : jobs::is_looked_at(job, ::getuid()) ? std::string()
                                                                  : words_of(queue, job);
  out["told"] = or_null(words);
  const bool printed = known && !glance->second.line.empty();
  out["last_line"] = printed ? nlohmann::json(glance->second.line) : nlohmann::json(nullptr);
  return out;
}

std::string jobs_json(const engines::Queue& queue, const std::vector<engines::Job>& jobs,
                      const Glances& live_statuses) {
  const WallTime now = std::chrono::system_clock::now();
  const auto is_far = [&](const engines::Job& job) { return jobs::is_planned_far_ahead(job, now); };
  const auto all =
      std::ranges::any_of(jobs, is_far) ? queue.jobs(std::nullopt) : engines::JobList();
  nlohmann::json list = nlohmann::json::array();
  for (const engines::Job& job : jobs) {
    list.push_back(json_of(queue, job, live_statuses));
    if (!is_far(job) || !all) continue;
    list.back()["expected_start"] = or_null(jobs::waiting(queue, job, {}, all->jobs, now).start);
  }
  const nlohmann::json document = {
      {"schema", "toprun.jobs/1"}, {"engine", queue.engine()}, {"jobs", std::move(list)}};
  return json_text(document, 2) + '\n';
}

Result<int> print_jobs(const Call& call) {
  const auto queue = TRY(engines::find_queue(call.environment));
  const auto jobs =
      queue->jobs(call.has(FlagId::all) ? std::nullopt : std::optional<std::uint32_t>(::getuid()));
  if (!jobs) return std::unexpected(jobs.error());
  for (const std::string& line : jobs->untold) say(line);
  const Glances live_statuses = jobs::live_statuses(*queue, jobs->jobs, ::getuid());
  if (call.has(FlagId::json)) return print_bytes(jobs_json(*queue, jobs->jobs, live_statuses));
  std::vector<std::string> status;
  for (const engines::Job& job : jobs->jobs)
    status.push_back(status_of(*queue, job, live_statuses));
  if (jobs->jobs.empty() && !call.has(FlagId::all)) {
    say("none of your jobs waits or runs; --all shows all users' jobs, and toprun status ID shows "
        "a job that has ended");
    return 0;
  }
  return print(
      jobs::jobs_table(*queue, jobs->jobs, status, style_of(STDOUT_FILENO, call.environment)));
}

Result<int> print_recent(const Call& call) {
  const auto queue = engines::find_queue(call.environment);
  const auto jobs = jobs::ended_jobs(queue ? queue->get() : nullptr, ::getuid(), most_ended);
  if (!jobs) return std::unexpected(jobs.error());
  if (call.has(FlagId::json)) {
    nlohmann::json list = nlohmann::json::array();
    for (const jobs::EndedJob& job : *jobs) list.push_back(jobs::recent_json(job));
    const nlohmann::json document = {{"schema", "toprun.recent/1"}, {"jobs", std::move(list)}};
    return print_bytes(json_text(document, 2) + '\n');
  }
  if (jobs->empty()) {
    say(queue ? "found no ended job of yours: Slurm remembers none, and none left its files here"
              : "no job left its files here; " + queue.error().line());
    return 0;
  }
  return print(jobs::recent_table(*jobs, style_of(STDOUT_FILENO, call.environment)));
}

}  // namespace

Result<int> run_jobs(const options::Call& call) {
  if (!call.has(FlagId::recent)) return print_jobs(call);
  if (!call.has(FlagId::all)) return print_recent(call);
  return usage("--recent with --all",
               "--recent shows output, and the output of other users is private",
               "give only one of them");
}

}  // namespace toprun::cli
