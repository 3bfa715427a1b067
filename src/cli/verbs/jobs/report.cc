#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/json/json_text.h"
#include "cli/jobs/job_summary.h"
#include "cli/jobs/job_words.h"
#include "cli/jobs/known_job.h"
#include "cli/pods/kept_runs.h"
#include "cli/verbs/jobs/running_jobs.h"
#include "cli/verbs/output_file.h"
#include "cli/verbs/run_verbs.h"
#include "engines/queue.h"
#include "observe/live/client.h"
#include "observe/web/files.h"

namespace toprun::cli {
namespace {

using nlohmann::json;
using options::FlagId;

// Help: 2 says that the command line or a file that it names is wrong.
Error of_a_named_file(Error error) {
  error->exit_code = exit_usage;
  return error;
}

Result<json> by_file(const std::string& path) {
  auto report = jobs::read_report(path);
  if (!report) return std::unexpected(of_a_named_file(std::move(report.error())));
  if (!*report) return fail("there is no file " + path);
  return std::move((*report)->document);
}

// Of a run in the pods of a job.
Result<json> by_run(const pods::RunId& id, const Environment& environment) {
  const auto text = TRY(pods::report_of_run(id, environment));
  auto report = TRY(jobs::parse_report(text));
  return std::move(report.document);
}

// The output file of each node that has one.
json outputs_of(const jobs::KnownJob& known) {
  json paths = json::object();
  if (!known.files) return paths;
  for (const jobs::LogFile& file : jobs::node_files(*known.files)) paths[file.label] = file.path;
  return paths;
}

// Of a job whose folder, or the report in it, is named.
Result<json> by_files(const jobs::FoundFiles& job) {
  jobs::KnownJob known = jobs::forgotten_job(job);
  json document =
      known.report ? std::move(known.report->document) : TRY(by_file(job.files.report()));
  document["id"] = known.id;
  document["node_output"] = outputs_of(known);
  return document;
}

Error no_report(const std::string& what, const jobs::KnownJob& known) {
  const auto state = known.job ? std::optional(known.job->state) : std::nullopt;
  if (state == engines::JobState::pending || state == engines::JobState::starting) {
    return {what, "the job has not started",
            fmt::format("toprun status {} shows what it waits for", jobs::id_word(*known.job)),
            exit_failure};
  }
  const bool runs = state && !engines::has_ended(*state);
  const jobs::JobSummary end = jobs::summary_of(known);
  if (!runs && (!known.has_output || end.was_cancelled_unstarted)) {
    return {what,
            end.was_cancelled_unstarted ? "the job was " + end.words
            : known.failed_predecessors.empty()
                ? "the job has no output, so perhaps it never started"
                : "the job never started: " + join(known.failed_predecessors, "; "),
            fmt::format("toprun status {} shows more", jobs::id_word(known.id)), exit_failure};
  }
  return {what, "the job has written no report, or it has written the report to another folder",
          "give the file that the job's --report names", exit_failure};
}

// What the job itself says now: its file is as old as its last event. nullopt: it does not answer
// on this host.
std::optional<json> live_report(const jobs::KnownJob& known, const Environment& environment) {
  constexpr std::chrono::seconds limit{5};
  const model::RunRecord& run = known.report->run;
  if (model::reported_code(run)) return std::nullopt;
  const auto job = find_running_job(known.id, environment, {"report", known.id});
  if (!job || !*job || time_in((*job)->started) != run.started) return std::nullopt;
  const auto answer = live::ask((*job)->socket.path, {"GET", "/report"}, limit);
  if (!answer || !*answer || (*answer)->status != 200) return std::nullopt;
  auto report = jobs::parse_report((*answer)->body);
  return report ? std::optional(std::move(report->document)) : std::nullopt;
}

// With what only the engine and the job's story know of its end: the run saw no more than a signal.
Result<json> by_job(const std::string& name, const Environment& environment) {
  const auto id = TRY(jobs::job_id_in(name, environment));
  jobs::FoundQueue queue = engines::find_queue_of(id, environment);
  auto all = TRY(jobs::find_known(id, queue));
  const std::string what = fmt::format("there is no report of job {}", name);
  if (all.empty() && !queue) return std::unexpected(std::move(queue.error()));
  if (all.empty()) return fail(what, "the job is unknown", jobs::lists_of_jobs);
  if (all.size() > 1) {
    return fail(what, fmt::format("the job is an array with {} tasks", all.size()),
                fmt::format("name one task, as in {}_1", name));
  }
  if (!all.front().report) {
    return std::unexpected(no_report(what, all.front()));
  }
  const jobs::JobSummary end = jobs::summary_of(all.front());
  auto now = live_report(all.front(), environment);
  json document = now ? *std::move(now) : std::move(all.front().report->document);
  document["id"] = all.front().id;
  document["node_output"] = outputs_of(all.front());
  document["told"] = end.words;
  document["state"] = or_null(end.state != engines::JobState::unknown, jobs::name_of(end.state));
  return document;
}

// `word`: an operand, which may be the file of a report, or what latest_job_here() returned.
Result<json> find_report(const std::string& word, bool is_operand, const Environment& environment) {
  std::error_code error;
  const bool is_file = is_operand && std::filesystem::is_regular_file(word, error);
  const bool is_report = is_file && !word.ends_with(".out");
  if (const auto job = is_report ? std::nullopt : jobs::job_at(word, environment)) {
    if (job->is_known) return by_job(job->found.id, environment);
    if (!job->is_forgotten) jobs::say_why_only_files(job->why_only_files, "report");
    return by_files(job->found);
  }
  if (const auto job = jobs::files_at(word)) return by_files(*job);
  if (is_file) return by_file(word);
  if (const auto run = pods::run_id_in(word)) {
    return *run ? by_run(**run, environment) : std::unexpected(run->error());
  }
  return by_job(word, environment);
}

// As of `toprun topo draw`, a file's ending says what it is to hold.
bool names_a_page(std::string_view file) {
  return file.ends_with(".html") || file.ends_with(".htm");
}

Result<void> check_ending(const std::string& file) {
  const std::string ending = std::filesystem::path(file).extension();
  if (ending.empty() || ending == ".json" || names_a_page(file)) return {};
  return usage("-o " + file, "a report is a page (.html) or JSON (.json)",
               "name a file with one of these endings");
}

std::string dumped(const json& report, int indent) {
  return json_text(report, indent);
}

}  // namespace

Result<int> run_report(const options::Call& call) {
  const bool is_page = call.has(FlagId::html) || names_a_page(output_file(call).value_or(""));
  if (is_page && !call.has(FlagId::output) && ::isatty(STDOUT_FILENO) == 1) {
    return usage("standard output", "it is a terminal, which does not show HTML",
                 "give -o FILE, or -o - to print it anyway");
  }
  if (!call.has(FlagId::html)) TRY(check_ending(output_file(call).value_or("")));
  const std::string name = call.operand();
  const auto report =
      TRY(find_report(name.empty() ? TRY(jobs::latest_job_here(call.environment)) : name,
                      !name.empty(), call.environment));
  const std::string text =
      is_page ? web::report_page(dumped(report, -1)) : dumped(report, 2) + '\n';
  return put_out(call, text);
}

}  // namespace toprun::cli
