#include "jobs/pod_output.h"

#include <fmt/format.h>

#include <thread>

#include "base/console.h"
#include "base/text.h"
#include "jobs/follow.h"
#include "jobs/job_words.h"
#include "process/child.h"
#include "process/program.h"

namespace toprun::jobs {
namespace {

using scheduler::Job;
using scheduler::JobState;
using scheduler::Queue;

constexpr int code_of_sigpipe = 141;  // who reads has seen enough
constexpr std::chrono::seconds between_questions{1};

Result<Job> job_of(const Queue& queue, const std::string& id) {
  const auto jobs = jobs_of(queue, id);
  if (!jobs) return std::unexpected(jobs.error());
  return jobs->front();
}

// By the engine's program, which writes to our stdout and stderr.
Result<void> run_log_command(const Queue& queue, const Job& job, bool follow,
                             const Environment& environment) {
  const auto command = queue.log_command(job, follow);
  if (!command) {
    return fail("the output of job " + job.id,
                fmt::format("{} does not say where it is", queue.engine_in_words()));
  }
  const auto program = process::find_program(command->front(), environment);
  if (!program) return fail(command->front(), "it is not in PATH");
  const auto pid = process::start(*program, *command, environment, {});
  if (!pid) return std::unexpected(pid.error());
  const int code = process::exit_code(process::await_end(*pid));
  process::end_as_told(code);
  if (code == 0 || code == code_of_sigpipe) return {};
  return fail(fmt::format("the output of job {}", job.id),
              fmt::format("{} ended with {}", shell_quote(*command), code));
}

// Waits until its pods run or it has ended; says once each why they do not.
Result<Job> started(const Queue& queue, const std::string& id) {
  std::string said;
  while (true) {
    auto job = job_of(queue, id);
    const bool begins =
        job && (job->state == JobState::pending || job->state == JobState::starting);
    if (!begins) return job;
    if (job->reason != said) {
      said = job->reason;
      say(fmt::format("job {} waits: {}", id, printable(said)));
    }
    std::this_thread::sleep_for(between_questions);
  }
}

}  // namespace

Result<int> show_pods(const std::string& id, const Environment& environment) {
  const auto queue = queue_of(id, environment);
  if (!queue) return std::unexpected(queue.error());
  const auto job = job_of(**queue, id);
  if (!job) return std::unexpected(job.error());
  if (job->state == JobState::pending) {
    return fail(fmt::format("job {} has printed nothing yet", id), "it waits: " + job->reason);
  }
  const auto shown = run_log_command(**queue, *job, false, environment);
  if (!shown) return std::unexpected(shown.error());
  return 0;
}

Result<int> follow_pods(const std::string& id, const Environment& environment) {
  const auto queue = queue_of(id, environment);
  if (!queue) return std::unexpected(queue.error());
  const auto job = started(**queue, id);
  if (!job) return std::unexpected(job.error());
  const auto shown = run_log_command(**queue, *job, true, environment);
  if (!shown) return std::unexpected(shown.error());
  return wait_for_job(id, environment, {});
}

}  // namespace toprun::jobs
