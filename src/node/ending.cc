#include "node/ending.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/console.h"
#include "base/files.h"
#include "base/trust.h"
#include "hosts/address.h"
#include "node/node_log.h"

namespace toprun::node {
namespace {

std::optional<view::Cause> cause_in(const run::Verdict& verdict) {
  if (!verdict.kind) return std::nullopt;
  if (verdict.absent.empty() && verdict.exit) return view::cause_of(*verdict.exit);
  view::Cause cause;
  // Where one rank alone was missed, what it printed last tells where it may stand.
  if (verdict.absent.size() == 1) cause = view::cause_of(verdict.absent.front());
  cause.exit_code.reset();
  cause.signal.reset();
  cause.kind = *verdict.kind;
  cause.node = verdict.node;
  cause.message = verdict.message;
  return cause;
}

view::Phases phases_of(const run::Phases& phases) {
  const auto since = [&](const std::optional<SteadyTime>& time) {
    std::optional<std::chrono::milliseconds> passed;
    if (time) {
      passed = std::chrono::duration_cast<std::chrono::milliseconds>(*time - phases.began);
    }
    return passed;
  };
  return {since(phases.joined), since(phases.ordered), since(phases.spawned),
          since(phases.first_connect), since(phases.last_connect)};
}

view::AttemptRecord record_of(const run::AttemptCourse& course) {
  view::AttemptRecord attempt;
  attempt.attempt = course.number;
  attempt.started = course.started;
  attempt.ended = course.ended;
  attempt.phases = phases_of(course.phases);
  attempt.nodes = course.nodes;
  attempt.order = course.order;
  attempt.cause = cause_in(course.verdict);
  return attempt;
}

view::RunRecord record_of(const plan::Job& job, const run::Course& course) {
  view::RunRecord record;
  record.job = job.name;
  record.root_host = hosts::host_name();
  record.root_pid = ::getpid();
  record.exit_code = course.verdict.exit_code;
  record.started = course.started;
  record.ended = course.ended;
  record.restarts = course.restarts;
  for (const run::AttemptCourse& attempt : course.attempts)
    record.attempts.push_back(record_of(attempt));
  return record;
}

std::string text_of(const view::RunRecord& record) {
  return view::report_json(record).dump(2) + '\n';
}

// A pipe or a device, which can only be written once.
bool is_special(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error);
}

void write_report(const std::string& path, const view::RunRecord& record) {
  const std::string text = text_of(record);
  if (!is_special(path) && replace_file(path, text)) return;
  if (auto written = write_through(path, text); !written) say(written.error().line());
}

}  // namespace

void keep_the_report(const plan::Job& job, const run::Course& course) {
  if (!job.options.report || is_special(*job.options.report)) return;
  view::RunRecord record = record_of(job, course);
  record.running_at = std::chrono::system_clock::now();
  // What keeps it from being written is said once, at the end.
  (void)replace_file(*job.options.report, text_of(record));
}

std::string summary(const plan::Job& job, const run::Course& course) {
  return view::last_line(record_of(job, course));
}

void tell_the_failure(const plan::Job& job, const run::AttemptCourse& attempt) {
  const run::Verdict& verdict = attempt.verdict;
  const auto cause = cause_in(verdict);
  if (!cause) return;
  if (cause->node.empty() && !cause->rank) return say(cause->message);
  const agent::WorkerExit* exit = nullptr;
  for (const agent::WorkerExit& one : verdict.exits) {
    if (cause->rank == one.rank) exit = &one;
  }
  say_block(view::failure_report(*cause, view::count_others(verdict.exits, exit),
                                 job.options.log_dir.value_or(""), look_of_stderr(job.environment),
                                 node_log_path(job.options, cause->node).value_or("")));
}

void tell_the_end(const plan::Job& job, const run::Course& course) {
  if (!course.attempts.empty()) tell_the_failure(job, course.attempts.back());
  const view::RunRecord record = record_of(job, course);
  if (job.options.report) write_report(*job.options.report, record);
  say_block(view::last_line(record));
}

}  // namespace toprun::node
