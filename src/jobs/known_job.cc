#include "jobs/known_job.h"

#include <fmt/format.h>

#include "jobs/job_words.h"

namespace toprun::jobs {
namespace {

using scheduler::Job;

Result<void> add_report(KnownJob& known) {
  if (!known.files) return {};
  auto report = read_report(known.files->report());
  if (!report) return std::unexpected(report.error());
  known.report = std::move(*report);
  return {};
}

Result<KnownJob> known_of(const scheduler::Queue& queue, const Job& job) {
  KnownJob known{job.id, job, files_of(queue, job), std::nullopt};
  if (!known.files) {
    auto found = search_files(job.id, likely_folders({job}));
    if (!found.empty()) known.files = std::move(found.front().files);
  }
  if (auto added = add_report(known); !added) return std::unexpected(added.error());
  return known;
}

}  // namespace

Result<std::vector<KnownJob>> find_known(const scheduler::JobId& id, const FoundQueue& queue,
                                         const std::string& log_dir) {
  std::vector<Job> jobs;
  if (queue) {
    auto told = (*queue)->find(id);
    if (!told) return std::unexpected(told.error());
    jobs = *std::move(told);
  }
  std::vector<KnownJob> all;
  for (const Job& job : jobs) {
    auto known = known_of(**queue, job);
    if (!known) return std::unexpected(known.error());
    all.push_back(*std::move(known));
  }
  if (!all.empty()) return all;
  std::vector<std::string> folders = likely_folders({});
  if (!log_dir.empty()) folders.push_back(log_dir);
  for (FoundFiles& found : search_files(id.text, folders)) {
    KnownJob forgotten{std::move(found.id), std::nullopt, std::move(found.files), std::nullopt};
    if (auto added = add_report(forgotten); !added) return std::unexpected(added.error());
    all.push_back(std::move(forgotten));
  }
  return all;
}

std::string cause_of(const KnownJob& known) {
  if (!known.report || known.report->attempts.empty()) return {};
  return known.report->attempts.back().cause.shown();
}

std::string end_with_cause(const scheduler::Queue& queue, const KnownJob& known) {
  std::string words;
  if (known.job && has_ended(known.job->state)) {
    words = end_text(queue, *known.job);
  } else if (known.report && known.report->exit_code) {
    words = fmt::format("ended with exit code {}", *known.report->exit_code);
  }
  const std::string cause = cause_of(known);
  if (cause.empty()) return words;
  return words.empty() ? cause : fmt::format("{}: {}", words, cause);
}

}  // namespace toprun::jobs
