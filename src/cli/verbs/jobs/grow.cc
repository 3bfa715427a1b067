#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/net/address.h"
#include "base/os/console.h"
#include "base/process/child.h"
#include "cli/jobs/job_report.h"
#include "cli/jobs/job_words.h"
#include "cli/jobs/known_job.h"
#include "cli/verbs/jobs/running_jobs.h"
#include "cli/verbs/run_verbs.h"
#include "run/conductor/conductor.h"

namespace toprun::cli {
namespace {

using engines::JobState;

constexpr const char* grow_signal_name = "URG";  // as engines' programs have it

std::string what_cannot(const std::string& job) {
  return "cannot grow " + job;
}

// Of a job that does not say how it grows nothing is known until it is asked.
Result<void> check_that_it_grows_when_asked(const std::string& what,
                                            const model::RunRecord& record) {
  if (!record.grow || record.grow->raw() == run::name_of(run::Grow::on_signal)) return {};
  if (record.grow->empty()) {
    return fail(what, "the job's number of nodes cannot change",
                "to allow this, start the job with --nnodes MIN:MAX --grow on-signal");
  }
  const bool now = record.grow->raw() == run::name_of(run::Grow::now);
  return fail(what,
              now ? "the job adds nodes by itself as soon as they connect (--grow now)"
                  : fmt::format("the job adds nodes at its next restart (--grow {})", *record.grow),
              now ? "" : "to choose the time yourself, start the job with --grow on-signal");
}

// Whether nodes wait to be taken in, as a report says; unknown without a report.
enum class Waiting : std::uint8_t { some, none, unknown };

Waiting waiting_of(const model::RunRecord& run) {
  return run.spares.empty() ? Waiting::none : Waiting::some;
}

Result<Waiting> grow_by_report(const std::string& path, const Environment& environment) {
  const auto report = TRY(jobs::read_report_to_follow(path, what_cannot(path)));
  TRY(check_that_it_grows_when_asked(what_cannot(path), report.run));
  const auto job = TRY(job_of_report(path, what_cannot(path), environment));
  if (!job) {
    return fail(what_cannot(path),
                fmt::format("the job's root agent is on {}, but this host is {}",
                            report.run.root_host, hosts::host_name()),
                fmt::format("run the same command on {}", report.run.root_host));
  }
  const pid_t root = job->pid;
  if (root != 0 && process::signal_process(root, run::grow_signal)) {
    return waiting_of(report.run);
  }
  if (root == 0 || errno == ESRCH) return fail(what_cannot(path), "the job has ended");
  return fail_errno(fmt::format("cannot signal process {} of {}", root, path));
}

Result<Waiting> grow_by_id(const std::string& text, const Environment& environment) {
  auto queue = jobs::queue_of(text, environment);
  if (!queue) return std::unexpected(queue.error());
  const auto jobs = jobs::jobs_of(**queue, text);
  if (!jobs) return std::unexpected(jobs.error());
  const bool runs = std::ranges::any_of(
      *jobs, [](const engines::Job& job) { return job.state == JobState::running; });
  if (!runs) {
    return fail(what_cannot("job " + text), "the job is not running",
                fmt::format("toprun status {} says more", text));
  }
  const auto id = TRY(engines::parse_job_id(text));
  const auto known = jobs::find_known(id, queue);
  // A job whose report cannot be read is asked all the same.
  Waiting waiting = Waiting::unknown;
  for (const jobs::KnownJob& one : known.value_or(std::vector<jobs::KnownJob>{})) {
    if (!one.report) continue;
    TRY(check_that_it_grows_when_asked(what_cannot("job " + text), one.report->run));
    if (waiting != Waiting::some) waiting = waiting_of(one.report->run);
  }
  const auto command =
      TRY((*queue)->cancel_command({text}, grow_signal_name, engines::Addressee::processes));
  TRY((*queue)->execute(command));
  return waiting;
}

// A name that can only be a file's, of a file that is not there.
Result<void> check_named_file(const std::string& job) {
  if (!job.contains('/') && !job.ends_with(".json")) return {};
  return usage(what_cannot(job), "there is no such file",
               "give the file of the job's --report, or the job's id as squeue shows it");
}

}  // namespace

Result<int> run_grow(const options::Call& call) {
  const std::string job = TRY(jobs::name_at(call.operand(), call.environment));
  std::error_code error;
  const bool is_report = std::filesystem::exists(job, error);
  if (!is_report) TRY(check_named_file(job));
  const Waiting waiting =
      TRY(is_report ? grow_by_report(job, call.environment) : grow_by_id(job, call.environment));
  std::string text = fmt::format("asked {} to add the waiting nodes", job);
  if (waiting == Waiting::none) {
    text +=
        "; the job's report names no waiting nodes: a node waits after toprun has started on it "
        "and has joined the job";
  }
  say(text);
  return 0;
}

}  // namespace toprun::cli
