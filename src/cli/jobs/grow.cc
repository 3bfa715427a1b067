#include "cli/jobs/grow.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/console.h"
#include "hosts/address.h"
#include "jobs/job_report.h"
#include "jobs/job_words.h"
#include "process/child.h"
#include "run/grow.h"

namespace toprun::cli {
namespace {

using scheduler::JobState;

constexpr const char* grow_signal_name = "URG";  // as engines' programs have it

Result<void> grow_by_report(const std::string& path) {
  const auto report = jobs::read_report(path);
  if (!report) return std::unexpected(report.error());
  if (!*report || (*report)->root_pid == 0) {
    return fail("cannot grow " + path, "it does not say where the job's root agent is",
                "give the file that --report names");
  }
  if ((*report)->exit_code) return fail("cannot grow " + path, "the job has ended");
  if ((*report)->root_host != hosts::host_name()) {
    return fail("cannot grow " + path,
                fmt::format("the job's root agent is on {}, this is {}", (*report)->root_host,
                            hosts::host_name()),
                fmt::format("run the same on {}", (*report)->root_host));
  }
  if (process::signal_process((*report)->root_pid, run::grow_signal)) return {};
  if (errno == ESRCH) return fail("cannot grow " + path, "the job has ended");
  return fail_errno(fmt::format("cannot signal process {} of {}", (*report)->root_pid, path));
}

Result<void> grow_by_id(const std::string& text, const Environment& environment) {
  const auto queue = jobs::queue_of(text, environment);
  if (!queue) return std::unexpected(queue.error());
  const auto jobs = jobs::jobs_of(**queue, text);
  if (!jobs) return std::unexpected(jobs.error());
  const bool runs = std::ranges::any_of(
      *jobs, [](const scheduler::Job& job) { return job.state == JobState::running; });
  if (!runs) {
    return fail(fmt::format("cannot grow job {}", text), "it does not run",
                fmt::format("toprun status {} says more", text));
  }
  const auto command =
      (*queue)->cancel_command({text}, grow_signal_name, scheduler::Addressee::processes);
  return command ? (*queue)->execute(*command) : std::unexpected(command.error());
}

}  // namespace

Result<int> run_grow(const options::Call& call) {
  const std::string job = call.operand();
  std::error_code error;
  const auto done =
      std::filesystem::exists(job, error) ? grow_by_report(job) : grow_by_id(job, call.environment);
  if (!done) return std::unexpected(done.error());
  say(fmt::format("asked {} to take in the nodes that wait", job));
  return 0;
}

}  // namespace toprun::cli
