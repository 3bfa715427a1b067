#include "cli/follow.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <thread>

#include "base/console.h"
#include "base/fd.h"
#include "base/files.h"
#include "base/mounts.h"
#include "base/text.h"
#include "cli/job_watch.h"
#include "cli/job_words.h"
#include "cli/log_tail.h"
#include "cli/print.h"

namespace toprun::cli {
namespace {

namespace fs = std::filesystem;
using scheduler::Job;
using scheduler::JobState;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A network file system tells nobody what other nodes write, so the files are looked at as well.
constexpr milliseconds between_looks{1'000};
constexpr milliseconds look_per_file{5};  // 1,000 hosts' files are looked at every 5 s
constexpr milliseconds between_reports{2'000};
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

// Wakes when something is written in the folders; where it cannot, looking has to do.
class FolderWatch {
 public:
  FolderWatch() : fd_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {}

  int fd() const { return fd_.get(); }
  void add(const std::string& folder) {
    if (!fd_ || watched_.contains(folder)) return;
    constexpr std::uint32_t events = IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_ONLYDIR;
    if (::inotify_add_watch(fd_.get(), folder.c_str(), events) >= 0) watched_.insert(folder);
  }
  void forget_news() {
    std::array<char, 4096> events;
    while (::read(fd_.get(), events.data(), events.size()) > 0) {
    }
  }

 private:
  Fd fd_;
  std::set<std::string> watched_;
};

// The files of all tasks of the followed job, and what of them was shown.
class Output {
 public:
  Output(const scheduler::Queue& queue, LogChoice choice)
      : queue_(queue), choice_(std::move(choice)) {}

  // Shows what is new. False: nothing was. Error: stdout is closed, or the choice fits no file.
  Result<bool> show(const std::map<std::string, Job>& jobs, FolderWatch& watch);
  Result<void> show_rests();
  std::size_t files() const { return tails_.size(); }
  // All files lie where they are seen as soon as they are written.
  bool is_local() const;
  // Why there is nothing to show, so far.
  const std::optional<Error>& trouble() const { return trouble_; }

 private:
  void look_for_files(const std::map<std::string, Job>& jobs, FolderWatch& watch);
  std::string prefix_of(const Job& job, const LogFile& file, bool several_jobs) const;

  const scheduler::Queue& queue_;
  const LogChoice choice_;
  std::map<std::string, LogTail> tails_;  // by path
  std::vector<std::string> order_;        // as the files were found
  std::optional<Error> trouble_;
};

std::string Output::prefix_of(const Job& job, const LogFile& file, bool several_jobs) const {
  std::string label = several_jobs ? job.id : std::string();
  // A choice of one rank or node, or a job of one, needs no name in front of each line.
  if (!file.label.empty() && choice_.node.empty() && !choice_.rank && job.nodes > 1) {
    label += (label.empty() ? "" : " ") + file.label;
  }
  return label.empty() ? label : label + ": ";
}

void Output::look_for_files(const std::map<std::string, Job>& jobs, FolderWatch& watch) {
  trouble_.reset();
  for (const auto& [id, job] : jobs) {
    if (job.state == JobState::pending && job.restarts == 0) continue;
    const auto files = files_of(queue_, job);
    if (!files) continue;
    watch.add(fs::path(files->own[0]).parent_path());
    watch.add(files->folder);
    auto found = log_files(*files, choice_);
    if (!found) {
      trouble_ = std::move(found.error());
      continue;
    }
    for (const LogFile& file : *found) {
      if (tails_.contains(file.path)) continue;
      const bool mixed = found->size() > 1 || jobs.size() > 1 || fs::exists(files->folder);
      tails_.try_emplace(file.path, file.path, prefix_of(job, file, jobs.size() > 1), mixed);
      order_.push_back(file.path);
    }
  }
}

Result<bool> Output::show(const std::map<std::string, Job>& jobs, FolderWatch& watch) {
  look_for_files(jobs, watch);
  bool news = false;
  for (const std::string& path : order_) {
    LogTail& tail = tails_.at(path);
    for (std::string text = tail.read_new(); !text.empty(); text = tail.read_new()) {
      news = true;
      if (print(text) != 0) return fail("the output cannot be shown");
    }
  }
  return news;
}

Result<void> Output::show_rests() {
  for (const std::string& path : order_) {
    if (print(tails_.at(path).rest()) != 0) return fail("the output cannot be shown");
  }
  return {};
}

bool Output::is_local() const {
  const auto text = read_file("/proc/self/mountinfo");
  if (!text || order_.empty()) return false;
  const auto mounts = parse_mounts(*text);
  return std::ranges::all_of(order_, [&](const std::string& path) {
    std::error_code error;
    const Mount* const mount = mount_of(mounts, fs::canonical(path, error).string());
    return mount != nullptr && is_shared(mount->type) == false;
  });
}

// Says what a job waits for and where it runs, once each.
class Announcer {
 public:
  explicit Announcer(const scheduler::Queue& queue) : queue_(queue) {}

  void tell(const JobWatch& watch) {
    for (const auto& [id, job] : watch.jobs()) tell(job);
    if (watch.trouble() == trouble_) return;
    trouble_ = watch.trouble();
    say(trouble_.empty() ? "the engine answers again"
                         : trouble_ + "; still following, and asking again");
  }

 private:
  void tell(const Job& job) {
    const std::string words = words_of(job);
    if (words.empty() || said_[job.id] == words) return;
    said_[job.id] = words;
    say(words);
  }
  std::string words_of(const Job& job) const {
    switch (job.state) {
      case JobState::pending:
        if (job.reason.empty()) return {};
        return fmt::format("job {} waits: {}", printable(job.id), reason_text(queue_, job.reason));
      case JobState::running:
        return fmt::format("job {} runs on {}", printable(job.id), printable(job.node_list));
      case JobState::suspended:
        return fmt::format("job {} is {}", printable(job.id), queue_.state_words(job.state_word));
      default:
        return {};
    }
  }

  const scheduler::Queue& queue_;
  std::map<std::string, std::string> said_;
  std::string trouble_;
};

// The run's own word on how it ended, where the engine's is not known any more.
std::optional<int> code_in_report(const scheduler::Queue& queue, const Job& job) {
  const auto files = files_of(queue, job);
  if (!files) return std::nullopt;
  const auto report = read_report(files->report());
  return report && *report ? (*report)->exit_code : std::nullopt;
}

// Says how each ended and gives the highest code.
int tell_the_ends(const scheduler::Queue& queue, const std::map<std::string, Job>& jobs) {
  int highest = 0;
  for (const auto& [id, job] : jobs) {
    auto code = exit_code_of(job);
    if (code) {
      say(fmt::format("job {}: {}", printable(id), end_text(queue, job)));
    } else if ((code = code_in_report(queue, job))) {
      say(fmt::format("job {} ended with exit code {}, by its own report: {} has forgotten it",
                      printable(id), *code, queue.engine()));
    } else {
      say(fmt::format("job {} ended, nobody knows how: {} has forgotten it and keeps no accounting",
                      printable(id), queue.engine()));
      code = exit_failure;
    }
    highest = std::max(highest, *code);
  }
  return highest;
}

class Follower {
 public:
  Follower(std::shared_ptr<const scheduler::Queue> queue, const scheduler::JobId& id,
           LogChoice choice, std::vector<Job> jobs)
      : queue_(queue), id_(id), jobs_(queue, id, std::move(jobs)), output_(*queue, choice) {}

  int run();

 private:
  void wait(milliseconds at_most);
  void look_at_reports(SteadyTime now);
  std::optional<int> finish();

  std::shared_ptr<const scheduler::Queue> queue_;
  const scheduler::JobId id_;
  JobWatch jobs_;
  Output output_;
  FolderWatch folders_;
  Interrupts interrupts_;
  SteadyTime next_look_at_reports_{};
  bool reported_ = false;
};

int Follower::run() {
  Announcer announcer(*queue_);
  for (;;) {
    announcer.tell(jobs_);
    const auto news = output_.show(jobs_.jobs(), folders_);
    if (!news) return exit_failure;
    if (jobs_.ended()) {
      if (const auto code = finish()) return *code;
    }
    look_at_reports(steady_clock::now());
    wait(*news ? rest_after_news
               : between_looks + look_per_file * static_cast<int>(output_.files()));
    if (const auto signal = interrupts_.taken()) {
      say(fmt::format("job {} goes on: toprun logs -f {} shows it again, toprun cancel {} ends it",
                      id_.text, id_.text, id_.text));
      return 128 + *signal;
    }
    jobs_.pass(steady_clock::now());
  }
}

void Follower::wait(milliseconds at_most) {
  const auto until_question =
      std::chrono::ceil<milliseconds>(jobs_.wake_at() - steady_clock::now());
  const auto time = std::clamp(until_question, milliseconds(0), at_most);
  // News rest a moment, so that a job that prints all the time does not keep this busy.
  const bool resting = at_most == rest_after_news;
  std::array<pollfd, 3> polled{pollfd{interrupts_.fd(), POLLIN, 0}, pollfd{jobs_.fd(), POLLIN, 0},
                               pollfd{resting ? -1 : folders_.fd(), POLLIN, 0}};
  ::poll(polled.data(), polled.size(), static_cast<int>(time.count()));
  folders_.forget_news();
}

// The run's last report tells of its end before the engine does.
void Follower::look_at_reports(SteadyTime now) {
  if (reported_ || now < next_look_at_reports_) return;
  next_look_at_reports_ = now + between_reports;
  reported_ = std::ranges::any_of(jobs_.jobs(), [this](const auto& entry) {
    return code_in_report(*queue_, entry.second).has_value();
  });
  if (reported_) jobs_.hurry(now);
}

// Once more, after a while where a network file system may show things late. Unset: there was more.
std::optional<int> Follower::finish() {
  if (!output_.is_local()) std::this_thread::sleep_for(last_words);
  const auto late = output_.show(jobs_.jobs(), folders_);
  if (!late) return exit_failure;
  if (*late) return std::nullopt;
  if (!output_.show_rests()) return exit_failure;
  if (output_.files() == 0 && output_.trouble()) say(output_.trouble()->line());
  return tell_the_ends(*queue_, jobs_.jobs());
}

Result<int> follow(const std::string& text, const LogChoice& choice,
                   const Environment& environment) {
  const auto id = scheduler::parse_job_id(text);
  if (!id) return std::unexpected(id.error());
  auto queue = scheduler::find_queue(environment);
  if (!queue) return std::unexpected(queue.error());
  const std::shared_ptr<const scheduler::Queue> shared = std::move(*queue);
  auto jobs = shared->find(*id);
  if (!jobs) return std::unexpected(jobs.error());
  if (jobs->empty()) return unknown_job(*shared, *id);
  return Follower(shared, *id, choice, std::move(*jobs)).run();
}

}  // namespace

int follow_job(const std::string& id, const LogChoice& choice, const Environment& environment) {
  const auto code = follow(id, choice, environment);
  return code ? *code : give_up(code.error());
}

int follow_job(const std::string& id, const Environment& environment) {
  return follow_job(id, {}, environment);
}

}  // namespace toprun::cli
