#include "jobs/recent.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "jobs/job_end.h"
#include "jobs/job_files.h"
#include "jobs/job_words.h"
#include "view/columns.h"

namespace toprun::jobs {
namespace {

using nlohmann::json;
using scheduler::Job;

// The last attempt's: it is what the job ended by.
std::string cause_in(const JobReport& report) {
  return report.attempts.empty() ? std::string() : report.attempts.back().cause.shown();
}

std::optional<JobReport> report_of(const JobFiles& files) {
  auto report = read_report(files.report());
  return report ? std::move(*report) : std::nullopt;
}

EndedJob known_to_engine(const scheduler::Queue& queue, const Job& job) {
  EndedJob out{job.id, job.name, job.ended, exit_code_of(job), end_text(queue, job)};
  if (job.end == scheduler::JobEnd::dependency) {
    out.how = ending_of(queue, job, {}).words;
    return out;
  }
  const auto files = files_of(queue, job);
  const auto report = files ? report_of(*files) : std::nullopt;
  if (!report) return out;
  if (const std::string cause = cause_in(*report); !cause.empty()) out.how = cause;
  if (report->exit_code) out.exit_code = report->exit_code;
  return out;
}

// "train" of "logs/train.17.out".
std::string name_in(const JobFiles& files, const std::string& id) {
  if (files.own.empty()) return {};
  const std::string name = std::filesystem::path(files.own.front()).filename().string();
  const std::string end = "." + id + ".out";
  return name.ends_with(end) ? name.substr(0, name.size() - end.size()) : std::string();
}

// nullopt: it left no report, or it may still run.
std::optional<EndedJob> by_its_files(const FoundFiles& found) {
  const auto report = report_of(found.files);
  if (!report || !report->exit_code) return std::nullopt;
  std::string how = cause_in(*report);
  if (how.empty()) how = fmt::format("ended with exit code {}", *report->exit_code);
  return EndedJob{found.id, name_in(found.files, found.id), report->updated, report->exit_code,
                  std::move(how)};
}

}  // namespace

Result<std::vector<EndedJob>> ended_jobs(const scheduler::Queue* queue, std::uint32_t uid,
                                         std::size_t most) {
  std::vector<EndedJob> all;
  std::vector<Job> told;
  if (queue != nullptr) {
    auto answer = queue->ended(uid);
    if (!answer) return std::unexpected(answer.error());
    told = *std::move(answer);
  }
  for (const Job& job : told) all.push_back(known_to_engine(*queue, job));
  for (const FoundFiles& found : all_files(likely_folders({}))) {
    if (std::ranges::find(all, found.id, &EndedJob::id) != all.end()) continue;
    if (auto job = by_its_files(found)) all.push_back(*std::move(job));
  }
  std::ranges::stable_sort(all, [](const EndedJob& a, const EndedJob& b) {
    return a.ended != b.ended ? a.ended > b.ended : natural_less(b.id, a.id);
  });
  if (all.size() > most) all.resize(most);
  return all;
}

std::string recent_table(const std::vector<EndedJob>& jobs, const Look& look) {
  std::vector<std::vector<std::string>> rows = {{"JOBID", "NAME", "ENDED", "CODE", "HOW"}};
  for (const EndedJob& job : jobs) {
    rows.push_back({printable(job.id), job.name.empty() ? "-" : printable(job.name),
                    job.ended ? time_text(*job.ended) : "-",
                    job.exit_code ? fmt::to_string(*job.exit_code) : "-", printable(job.how)});
  }
  const std::string table = view::columns_text(rows, {0, 3});
  const auto lines = split(table, '\n');
  std::string text = fmt::format("{}\n", lines[0]);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Colour colour = jobs[i].exit_code == 0 ? Colour::good : Colour::bad;
    text += coloured(both_ends(lines[i + 1], look.columns), colour, look) + '\n';
  }
  return text;
}

json recent_json(const EndedJob& job) {
  return {{"id", job.id},
          {"name", job.name.empty() ? json(nullptr) : json(job.name)},
          {"ended", job.ended ? json(rfc3339(*job.ended)) : json(nullptr)},
          {"exit_code", job.exit_code ? json(*job.exit_code) : json(nullptr)},
          {"cause", job.how.empty() ? json(nullptr) : json(job.how)}};
}

}  // namespace toprun::jobs
