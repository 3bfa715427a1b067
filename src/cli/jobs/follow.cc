#include "cli/jobs/follow.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "base/os/console.h"
#include "base/os/fd.h"
#include "base/os/style.h"
#include "base/text/text.h"
#include "cli/jobs/job_output.h"
#include "cli/jobs/job_watch.h"
#include "cli/jobs/job_words.h"
#include "cli/jobs/known_job.h"
#include "cli/jobs/waiting.h"

namespace toprun::jobs {
namespace {

using engines::Job;
using engines::JobState;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A network file system does not report what other nodes write, so the files are also polled.
constexpr milliseconds between_looks{1'000};
constexpr milliseconds look_per_file{5};  // 1,000 hosts' files are looked at every 5 s
constexpr milliseconds between_reports{2'000};
// An expected start that moved by less is the same.
constexpr std::chrono::minutes noticed{5};
// After a file was written: what follows at once is shown with it.
constexpr milliseconds rest_after_news{50};
// What a network file system may still hold back when the job has ended.
constexpr milliseconds last_words{1'500};

// SIGINT and SIGTERM as something to wait for, while it lives.
class Interrupts {
 public:
  Interrupts() {
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &ends, &before_);
    fd_ = Fd(::signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK));
    // Without such an object the signals end this process as usual.
    if (!fd_) ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  ~Interrupts() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  int fd() const { return fd_.get(); }
  std::optional<int> taken() {
    signalfd_siginfo info{};
    if (::read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
    return static_cast<int>(info.ssi_signo);
  }

 private:
  sigset_t before_{};
  Fd fd_;
};

// Says what a job waits for and where it runs, once each.
class Announcer {
 public:
  explicit Announcer(const engines::Queue& queue) : queue_(queue) {}

  void tell(const JobWatch& watch) {
    for (const auto& [id, job] : watch.jobs()) {
      tell(job);
      if (const Waiting* const waiting = watch.waiting(id)) tell_the_outlook(job, *waiting);
    }
    if (watch.trouble() == trouble_) return;
    trouble_ = watch.trouble();
    say(trouble_.empty() ? "the engine answers again"
                         : trouble_ + "; toprun still follows the job and tries again");
  }

 private:
  void tell(const Job& job) {
    const std::string words = words_of(job);
    if (words.empty() || said_[job.id] == words) return;
    const bool was_running = states_[job.id] == job.state && job.state == JobState::running;
    const bool is_same_run = was_running && restarts_[job.id] == job.restarts;
    said_[job.id] = words;
    states_[job.id] = job.state;
    restarts_[job.id] = job.restarts;
    if (is_same_run) return;  // it has lost nodes, or has more
    say(words);
  }
  // How many are ahead and when it may start, again when either changed so that one would notice.
  void tell_the_outlook(const Job& job, const Waiting& waiting) {
    const bool moved =
        waiting.start.has_value() != start_[job.id].has_value() ||
        (waiting.start && std::chrono::abs(*waiting.start - *start_[job.id]) > noticed);
    std::string ahead;
    for (std::size_t i = 1; i < waiting.reasons.size(); ++i) ahead += waiting.reasons[i] + "; ";
    const bool is_stuck = waiting.can_never_start || waiting.needs_change;
    const bool became_stuck = is_stuck && !std::exchange(stuck_[job.id], is_stuck);
    if (!moved && !became_stuck && ahead_[job.id] == waiting.ahead) return;
    start_[job.id] = waiting.start;
    ahead_[job.id] = waiting.ahead;
    say(fmt::format("job {}: {}{}", printable(job.id), ahead,
                    start_text(waiting, job, std::chrono::system_clock::now(), Labelled::no)));
  }
  std::string words_of(const Job& job) const {
    switch (job.state) {
      case JobState::pending:
        if (job.reason.empty()) return {};
        return fmt::format("job {} waits: {}", printable(job.id), reason_text(queue_, job));
      case JobState::running:
        return fmt::format("job {} has started on {}", printable(job.id), printable(job.node_list));
      case JobState::suspended:
        return fmt::format("job {} is {}", printable(job.id), queue_.state_words(job.state_word));
      default:
        return {};
    }
  }

  const engines::Queue& queue_;
  std::map<std::string, std::string> said_;
  std::map<std::string, JobState> states_;
  std::map<std::string, int> restarts_;
  std::map<std::string, std::optional<WallTime>> start_;
  std::map<std::string, std::optional<std::int64_t>> ahead_;
  std::map<std::string, bool> stuck_;  // it was said that the job cannot start
  std::string trouble_;
};

// The run's own word on how it ended, where the engine's is not known any more.
std::optional<int> code_in_report(const engines::Queue& queue, const Job& job) {
  const auto files = files_of(queue, job);
  if (!files) return std::nullopt;
  const auto report = read_report(files->report());
  return report && *report ? model::reported_code((*report)->run) : std::nullopt;
}

// Says how each ended and gives the highest code.
int tell_the_ends(const engines::Queue& queue, const JobsById& jobs,
                  const std::vector<FoundFiles>& forgotten, const Setups& setups,
                  const Style& style) {
  std::map<std::string, JobEnding, NaturalOrder> endings;
  for (const auto& [id, job] : jobs) {
    if (forgotten.empty() || !is_without_tasks(job)) endings[id] = ending_of(queue, job, setups);
  }
  for (const FoundFiles& task : forgotten) {
    endings[task.id] = ending_by_files(queue, forgotten_job(task));
  }
  int highest = 0;
  for (const auto& [id, ending] : endings) {
    say_block(end_line(id, ending, style));
    highest = std::max(highest, ending.exit_code);
  }
  return highest;
}

class Follower {
 public:
  // Without a choice only the end is waited for, and no output shown.
  Follower(std::shared_ptr<const engines::Queue> queue, const engines::JobId& id,
           const std::optional<LogChoice>& choice, std::vector<Job> jobs, const Setups& setups,
           const Style& style)
      : queue_(queue),
        id_(id),
        setups_(setups),
        style_(style),
        forgotten_(forgotten_tasks(*queue, id, jobs)),
        jobs_(queue, id, std::move(jobs)) {
    if (choice) output_.emplace(*queue_, *choice, forgotten_);
  }

  int run() {
    Announcer announcer(*queue_);
    for (;;) {
      announcer.tell(jobs_);
      const auto news = show();
      if (!news) return exit_failure;
      if (output_ && output_->refusal()) return give_up(*output_->refusal());
      if (jobs_.ended()) {
        if (const auto code = finish()) return *code;
      }
      look_at_reports(steady_clock::now());
      wait(*news);
      if (const auto signal = interrupts_.taken()) {
        say(fmt::format(
            "job {0} is not cancelled: toprun logs -f {0} follows the job again, toprun "
            "cancel {0} ends the job",
            id_word(id_.text)));
        return 128 + *signal;
      }
      jobs_.pass(steady_clock::now());
    }
  }

 private:
  Result<bool> show() {
    return output_ ? output_->show(jobs_.jobs(), folders_) : Result<bool>(false);
  }
  // News rest a moment, so that a job that prints all the time does not keep this busy.
  void wait(bool news) {
    const int files = output_ ? static_cast<int>(output_->files()) : 0;
    const milliseconds at_most = news ? rest_after_news : between_looks + look_per_file * files;
    const auto until_question =
        std::chrono::ceil<milliseconds>(jobs_.wake_at() - steady_clock::now());
    const auto time = std::clamp(until_question, milliseconds(0), at_most);
    std::array<pollfd, 3> polled{pollfd{interrupts_.fd(), POLLIN, 0}, pollfd{jobs_.fd(), POLLIN, 0},
                                 pollfd{news ? -1 : folders_.fd(), POLLIN, 0}};
    ::poll(polled.data(), polled.size(), static_cast<int>(time.count()));
    folders_.forget_news();
  }
  // The run's last report tells of its end before the engine does.
  void look_at_reports(SteadyTime now) {
    if (reported_ || now < next_look_at_reports_) return;
    next_look_at_reports_ = now + between_reports;
    reported_ = std::ranges::any_of(jobs_.jobs(), [this](const auto& entry) {
      return code_in_report(*queue_, entry.second).has_value();
    });
    if (reported_) jobs_.hurry(now);
  }
  // Once more, after a while where a network file system may show things late. Unset: there was
  // more.
  std::optional<int> finish() {
    if (!output_) return tell_the_ends(*queue_, jobs_.jobs(), forgotten_, setups_, style_);
    if (!output_->is_local()) std::this_thread::sleep_for(last_words);
    const auto late = show();
    if (!late) return exit_failure;
    if (*late) return std::nullopt;
    if (!output_->show_rests()) return exit_failure;
    if (output_->files() == 0 && output_->trouble()) say(output_->trouble()->line());
    return tell_the_ends(*queue_, jobs_.jobs(), forgotten_, setups_, style_);
  }

  std::shared_ptr<const engines::Queue> queue_;
  const engines::JobId id_;
  const Setups& setups_;
  const Style style_;
  const std::vector<FoundFiles> forgotten_;  // since before the first query
  JobWatch jobs_;
  std::optional<JobOutput> output_;
  FolderWatch folders_;
  Interrupts interrupts_;
  SteadyTime next_look_at_reports_{};
  bool reported_ = false;
};

Result<int> follow(const std::string& text, const std::string& record,
                   const std::optional<LogChoice>& choice, const Environment& environment,
                   const Setups& setups) {
  const auto id = TRY(job_id_in(text, environment));
  const std::shared_ptr<const engines::Queue> shared = TRY(engines::find_queue_of(id, environment));
  auto jobs = TRY(jobs_of(*shared, text, record));
  return Follower(shared, id, choice, std::move(jobs), setups, style_of_stderr(environment)).run();
}

int exit_code_said(const Result<int>& code) {
  return code ? *code : give_up(code.error());
}

}  // namespace

int follow_job(const std::string& id, const LogChoice& choice, const Environment& environment,
               const Setups& setups) {
  return exit_code_said(follow(id, {}, choice, environment, setups));
}

int wait_for_job(const std::string& id, const Environment& environment, const Setups& setups,
                 const std::string& record) {
  return exit_code_said(follow(id, record, std::nullopt, environment, setups));
}

}  // namespace toprun::jobs
