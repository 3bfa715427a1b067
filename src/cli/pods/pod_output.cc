#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "base/os/console.h"
#include "base/os/fd.h"
#include "base/os/files.h"
#include "base/os/style.h"
#include "base/process/child.h"
#include "base/process/command.h"
#include "base/text/clock.h"
#include "base/text/shown_line.h"
#include "base/text/text.h"
#include "cli/jobs/follow.h"
#include "cli/jobs/job_words.h"
#include "cli/jobs/waiting.h"
#include "cli/pods/running.h"

namespace toprun::pods {
namespace {

using engines::Job;
using engines::JobState;
using engines::Printer;
using engines::Queue;

constexpr int code_of_sigpipe = 141;  // the reader has seen enough
constexpr std::size_t most_complaint_bytes = 64 * 1024;
constexpr std::size_t most_complaint_lines = 4;
constexpr std::chrono::seconds between_questions{1};
constexpr std::chrono::milliseconds longest_pause{10'000};  // while there is output to show
// Pods whose job has ended may print on for so long, and be silent meanwhile for so long.
constexpr std::chrono::minutes last_words{10};
constexpr std::chrono::seconds longest_silence{10};

Result<Job> job_of(const Queue& queue, const std::string& id, const std::string& record) {
  const auto found = TRY(jobs::jobs_of(queue, id, record));
  return found.front();
}

// The engine's program that prints output, to our stdout. What it says on stderr is its own, for
// its developers too.
struct Reading {
  pid_t pid = -1;
  std::vector<std::string> command;
  Fd err;
};

Result<Reading> begin_reading(const Queue& queue, const Job& job, bool follow, const Printer* only,
                              const Environment& environment) {
  auto command = queue.log_command(job, follow, only);
  if (!command) {
    return fail("cannot show the output of job " + job.id,
                fmt::format("{} does not report where this output is", queue.engine_in_words()));
  }
  const auto program = process::find_program(command->front(), environment);
  if (!program) return fail(command->front(), "the program is not in PATH");
  auto err = TRY(process::make_pipe());
  const auto pid = TRY(process::start(*program, *command, environment, {.err = err.write.get()}));
  return Reading{pid, *std::move(command), std::move(err.read)};
}

// Returns when it has closed its stderr, at its end at the latest.
std::string complaint_of(const Reading& reading) {
  std::string said;
  process::read_lines(reading.err.get(), most_complaint_bytes, [&](std::string_view line) {
    if (said.size() < most_complaint_bytes) said.append(line).push_back('\n');
  });
  return join(complaint(said, most_complaint_lines), "; ");
}

Result<void> await(const Reading& reading, const Job& job, std::string said) {
  const int code = process::exit_code(process::await_end(reading.pid));
  process::end_at_once(code);
  if (code == 0 || code == code_of_sigpipe) return {};
  if (said.empty())
    said = fmt::format("{} ended with exit code {}", shell_quote(reading.command), code);
  return fail(fmt::format("cannot show the output of job {}", job.id), std::move(said));
}

bool is_coming(JobState state) {
  return state == JobState::pending || state == JobState::starting;
}

bool waits_for_pods(const Job& job) {
  // Containers that fail again and again make a job pending, and have printed why.
  const bool all_have_begun = job.nodes > 0 && std::ssize(job.printers) >= job.nodes;
  return !all_have_begun && is_coming(job.state);
}

std::string waiting_words(const Queue& queue, const Job& job) {
  if (job.state == JobState::pending) return join(jobs::waiting(queue, job).reasons, "; ");
  return job.reason.empty() ? std::string() : jobs::reason_text(queue, job);
}

// Waits until its pods run or it has ended; says once each why they do not.
Result<Job> started(const Queue& queue, const std::string& id, std::string record) {
  std::string said;
  while (true) {
    auto job = job_of(queue, id, record);
    if (!job || !waits_for_pods(*job)) return job;
    record = job->number;
    std::string words = waiting_words(queue, *job);
    if (!words.empty() && words != said) {
      said = std::move(words);
      say(fmt::format("job {} waits: {}", id, said));
    }
    std::this_thread::sleep_for(between_questions);
  }
}

// Shows the output of a job's pods until it has ended: by one command that of all that run when it
// begins, and by one each that of pods which are started again or come later.
class PodReader {
 public:
  PodReader(const Queue& queue, const Environment& environment)
      : queue_(queue), environment_(environment) {}

  Result<void> read(Job job) {
    const std::string id = job.id;
    const std::string record = job.number;
    known_.insert(job.printers.begin(), job.printers.end());
    if (auto begun = add_first(job); !begun) return begun;
    std::chrono::milliseconds pause = between_questions;
    while (!has_ended(job.state)) {
      rest(pause);
      pause = std::min(pause * 3 / 2, longest_pause);
      auto now = job_of(queue_, id, record);
      if (!now) break;  // it is deleted, or the cluster does not answer: wait_for_job() tells
      job = *std::move(now);
      for (const Printer& printer : job.printers) {
        if (!known_.insert(printer).second) continue;
        if (auto begun = add(job, &printer); !begun) return begun;
      }
    }
    end_readers();
    return {};
  }

 private:
  // One command for all fails where one of them has not begun, as of an elastic job.
  Result<void> add_first(const Job& job) {
    if (job.printers.empty() || std::ssize(job.printers) >= job.nodes) return add(job, nullptr);
    for (const Printer& printer : job.printers) {
      if (auto begun = add(job, &printer); !begun) return begun;
    }
    return {};
  }
  Result<void> add(const Job& job, const Printer* only) {
    auto reading = begin_reading(queue_, job, true, only, environment_);
    if (!reading) return std::unexpected(reading.error());
    const std::lock_guard lock(mutex_);
    running_.insert(reading->pid);
    // A reader that fails has printed why; the job goes on.
    threads_.emplace_back([this, reading = *std::move(reading), job] {
      std::string said = complaint_of(reading);
      siginfo_t info{};
      while (::waitid(P_PID, static_cast<id_t>(reading.pid), &info, WEXITED | WNOWAIT) < 0 &&
             errno == EINTR) {
      }
      const std::lock_guard done(mutex_);
      running_.erase(reading.pid);
      if (const auto ended = await(reading, job, std::move(said)); !ended)
        say(ended.error().line());
      changed_.notify_all();
    });
    return {};
  }
  // Less long where no reader is left: then the job ends, or its pods come again.
  void rest(std::chrono::milliseconds pause) {
    const SteadyTime begin = std::chrono::steady_clock::now();
    if (wait_for_readers(begin + pause)) std::this_thread::sleep_until(begin + between_questions);
  }
  // What the readers have printed: "wchar" in /proc/PID/io (proc(5)).
  std::uint64_t printed() {
    constexpr std::string_view label = "wchar:";
    std::uint64_t bytes = 0;
    const std::lock_guard lock(mutex_);
    for (const pid_t pid : running_) {
      const std::string text = read_file(fmt::format("/proc/{}/io", pid)).value_or("");
      const std::size_t at = text.find(label);
      if (at != std::string::npos)
        bytes += std::strtoull(text.c_str() + at + label.size(), nullptr, 10);
    }
    return bytes;
  }
  // A container may run on although its job has ended, and a node that is gone ends no stream.
  void end_readers() {
    const SteadyTime last = std::chrono::steady_clock::now() + last_words;
    std::uint64_t before = printed();
    while (!wait_for_readers(std::chrono::steady_clock::now() + longest_silence)) {
      const std::uint64_t now = printed();
      if (now == before || std::chrono::steady_clock::now() > last) break;
      before = now;
    }
    const std::lock_guard lock(mutex_);
    for (const pid_t pid : running_) process::signal_process(pid, SIGKILL);
  }
  bool wait_for_readers(SteadyTime until) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, until, [this] { return running_.empty(); });
  }

  const Queue& queue_;
  const Environment& environment_;
  std::set<Printer> known_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<pid_t> running_;            // readers that are not reaped; guarded by the mutex
  std::vector<std::jthread> threads_;  // one for each reader
};

// The last that is seen of a failed job is what broke, on stderr: the output itself is data.
void tell_failure(const engines::Queue& queue, const Job& job, const Environment& environment) {
  if (!has_ended(job.state)) return;
  const jobs::JobEnding ending = jobs::ending_of(queue, job, {});
  if (ending.exit_code == 0) return;
  say_block(jobs::end_line(job.id, ending, style_of_stderr(environment)));
}

}  // namespace

Result<int> show_pods(const std::string& id, const Environment& environment) {
  const auto queue = TRY(jobs::queue_of(id, environment));
  const auto job = TRY(job_of(*queue, id, {}));
  if (job.printers.empty() && is_coming(job.state)) {
    return fail(fmt::format("job {} has printed nothing yet", id),
                "the job waits: " + waiting_words(*queue, job));
  }
  // One command for all fails where one of them has not begun. An engine that tells of no printers
  // of a job that runs has that command alone.
  std::vector<const Printer*> readings{nullptr};
  const bool is_reported = job.state != JobState::running || !job.printers.empty();
  if (is_reported && std::ssize(job.printers) < job.nodes && !has_ended(job.state)) {
    readings.clear();
    for (const Printer& printer : job.printers) readings.push_back(&printer);
  }
  for (const Printer* only : readings) {
    const auto reading = TRY(begin_reading(*queue, job, false, only, environment));
    TRY(await(reading, job, complaint_of(reading)));
  }
  tell_failure(*queue, job, environment);
  return 0;
}

Result<int> follow_pods(const std::string& id, const std::string& record,
                        const Environment& environment) {
  const auto queue = TRY(jobs::queue_of(id, environment));
  const auto job = TRY(started(*queue, id, record));
  TRY(PodReader(*queue, environment).read(job));
  return jobs::wait_for_job(id, environment, {}, job.number);
}

}  // namespace toprun::pods
