#include "node/worker/keeper.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/net/address.h"
#include "base/os/console.h"
#include "base/os/fd.h"
#include "base/process/child.h"
#include "base/text/clock.h"
#include "base/text/text.h"
#include "node/worker/spawn/descendants.h"

namespace toprun::worker {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// The keeper checks the agent this often. A longer time between two checks means that the keeper
// itself did not run.
constexpr milliseconds check_interval{1000};
constexpr std::chrono::seconds killing_limit{3};  // of an agent whose run is over
constexpr std::chrono::seconds removal_limit{2};
constexpr milliseconds removal_check_interval{1};

struct Shared {
  char folder[PATH_MAX];      // written by the agent, read by the keeper after the agent's death
  std::atomic<bool> resting;  // written by the keeper
  std::atomic<bool> silence;  // written by the agent
  std::atomic<bool> joined;   // written by the agent
  std::atomic<bool> over;     // written by the agent, after the code
  std::atomic<int> exit_code;
  std::atomic<bool> unfinished;  // base/os/console.h, of both
};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);
Shared* shared = nullptr;
int heartbeat_of_agent = -1;  // in the agent's process
std::string death_text;

void say_of_this_host(const std::string& text) {
  say(fmt::format("{}: {}", hosts::host_name(), text));
}

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// A signalfd receives a blocked signal even if its disposition is to be ignored.
sigset_t forwarded_signals(std::span<const int> named) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : named) ::sigaddset(&set, signal);
  for (const int signal : {SIGTERM, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH}) ::sigaddset(&set, signal);
  for (const int signal : {SIGINT, SIGHUP, SIGQUIT}) {
    if (!is_ignored(signal)) ::sigaddset(&set, signal);
  }
  return set;
}

// SIGTSTP alone; empty if it is ignored.
sigset_t stop_signal() {
  sigset_t set;
  ::sigemptyset(&set);
  if (!is_ignored(SIGTSTP)) ::sigaddset(&set, SIGTSTP);
  return set;
}

[[noreturn]] void become_agent(const std::function<int(int)>& agent, int heartbeat_fd, pid_t keeper,
                               const sigset_t& mask) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != keeper) ::_exit(exit_failure);
  ::setpgid(0, 0);
  spawn::become_subreaper();
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a full log (ulimit -f) gives an error to report
  for (const int notice : {SIGUSR1, SIGUSR2}) ::signal(notice, SIG_IGN);  // no workers yet
  ::signal(SIGTSTP, SIG_IGN);  // until it has a handler: only its workers are stopped
  ::signal(SIGTTOU, SIG_IGN);  // else a terminal with `stty tostop` would stop a background group
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  heartbeat_of_agent = heartbeat_fd;
  leave(agent(heartbeat_fd));
}

// Runs in a separate process: a hanging file system must not delay the exit code.
void remove_in_time(const char* folder) {
  const pid_t pid = process::fork_with_signals_blocked();
  if (pid <= 0) {  // no process available: remove it here
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  if (pid == 0) ::_exit(0);
  const auto deadline = steady_clock::now() + removal_limit;
  while (pid > 0 && ::waitpid(pid, nullptr, WNOHANG) == 0) {
    if (steady_clock::now() >= deadline) {
      process::signal_process(pid, SIGKILL);
      return;
    }
    const timespec pause{0, std::chrono::nanoseconds(removal_check_interval).count()};
    ::nanosleep(&pause, nullptr);
  }
}

struct Descriptors {
  int heartbeat;
  int signals;
  int stop;  // readable while a SIGTSTP is pending
};

class Keeper {
 public:
  Keeper(pid_t agent, Descriptors descriptors, milliseconds stall_limit,
         const SignalFilter& concerns_agent)
      : agent_(agent),
        heartbeat_fd_(descriptors.heartbeat),
        signal_fd_(descriptors.signals),
        stop_fd_(descriptors.stop),
        stall_limit_(stall_limit),
        concerns_agent_(concerns_agent) {
    ::sigemptyset(&forwarded_);
  }

  int watch() {
    milliseconds silent{0};
    auto last_check = steady_clock::now();
    const milliseconds interval = std::min(check_interval, stall_limit_);
    for (;;) {
      std::array<pollfd, 3> waiting{{{signal_fd_, POLLIN, 0},
                                     {heartbeat_fd_, POLLIN, 0},
                                     {resting_ ? -1 : stop_fd_, POLLIN, 0}}};
      ::poll(waiting.data(), waiting.size(), static_cast<int>(interval.count()));
      const auto now = steady_clock::now();
      silent += std::min(interval, std::chrono::ceil<milliseconds>(now - last_check));
      last_check = now;
      if (waiting[2].revents != 0) set_resting(SIGTSTP);  // first: a SIGCONT may follow poll()
      if (waiting[0].revents != 0) read_signals();
      if (status_) return ended();
      if (waiting[1].revents != 0 && read_beats()) silent = milliseconds{0};
      if (is_over() && !ends_by_) ends_by_ = now + ending_limit;
      if (ends_by_ && now >= *ends_by_) return left_behind();
      if (silent >= stall_limit_) return stalled();
    }
  }

 private:
  void read_signals() {
    signalfd_siginfo info{};
    while (::read(signal_fd_, &info, sizeof info) == sizeof info) {
      if (info.ssi_signo == SIGCHLD) continue;
      const int signal = static_cast<int>(info.ssi_signo);
      const auto sender = static_cast<pid_t>(info.ssi_pid);
      if (concerns_agent_ && !concerns_agent_(signal, sender)) continue;
      ::sigaddset(&forwarded_, signal);
      if (signal == SIGCONT) {
        set_resting(SIGCONT);
      } else {
        pass_on(signal);
      }
    }
    int status = 0;
    for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      if (pid == agent_) status_ = status;
    }
  }

  void pass_on(int signal) {
    sigval value{};
    value.sival_int = signal;
    if (takes_queued_ && ::sigqueue(agent_, queued_signal(), value) == 0) {
      last_queued_ = signal;
    } else {
      process::signal_process(agent_, signal);
    }
  }

  // The agent may handle the two signals in the wrong order; the shared flag shows the last one.
  void set_resting(int signal) {
    resting_ = signal == SIGTSTP;
    if (shared != nullptr) shared->resting = resting_;
    process::signal_process(agent_, signal);
  }

  // Lets the pending SIGTSTP take effect. If a SIGCONT came meanwhile, the kernel has discarded the
  // SIGTSTP, as it does with every stop signal, so no SIGCONT is missed. In an orphaned process
  // group, which no shell would continue, the SIGTSTP does not stop us.
  void stop() {
    const sigset_t stop = stop_signal();
    ::sigprocmask(SIG_UNBLOCK, &stop, nullptr);
    ::sigprocmask(SIG_BLOCK, &stop, nullptr);
  }

  bool read_beats() {
    char beats[256];
    bool any = false;
    bool at_rest = false;
    ssize_t n;
    do {
      n = ::read(heartbeat_fd_, beats, sizeof beats);
      if (n <= 0) break;
      any = true;
      at_rest |= std::memchr(beats, beat_of_rest, static_cast<std::size_t>(n)) != nullptr;
      takes_queued_ |= std::memchr(beats, beat_of_queue, static_cast<std::size_t>(n)) != nullptr;
    } while (n == sizeof beats);
    if (n == 0) heartbeat_fd_ = -1;  // closed; poll() ignores a negative descriptor
    if (at_rest && resting_) stop();
    return any;
  }

  static bool is_over() { return shared != nullptr && shared->over; }

  int ended() {
    clear(spawn::unkillable_limit);
    if (is_over()) return shared->exit_code;
    if (WIFEXITED(*status_)) return WEXITSTATUS(*status_);
    const int signal = WTERMSIG(*status_);
    // A forwarded signal killed the agent while it could not handle it.
    if (::sigismember(&forwarded_, signal) == 1) return 128 + signal;
    if (signal == queued_signal() && last_queued_ != 0) return 128 + last_queued_;
    death_text = fmt::format(
        "the agent (pid {}) was killed by signal {} ({}), so all its ranks were killed{}", agent_,
        signal, ::strsignal(signal),
        signal == SIGKILL
            ? "; if you did not send this signal, look for the out-of-memory killer in dmesg"
            : "");
    say_of_this_host(death_text);
    return exit_failure;
  }

  int left_behind() {
    if (!clear(killing_limit)) {
      say(
          fmt::format("these processes are left behind, because the kernel cannot end them (does a "
                      "file system not answer?): {}",
                      join(spawn::describe_descendants(), ", ")));
    }
    return shared->exit_code;
  }

  int stalled() {
    clear(spawn::unkillable_limit);
    death_text = fmt::format(
        "the agent (pid {}) gave no sign of life for {}, so it and all its ranks were "
        "killed; was it stopped by a signal or a debugger?",
        agent_, duration_text(stall_limit_));
    say_of_this_host(death_text);
    return exit_failure;
  }

  // Orphans of any depth become our children. False: some are left.
  bool clear(milliseconds limit) {
    const bool childless = spawn::until_childless(SIGKILL, limit);
    if (shared != nullptr && shared->folder[0] != '\0') remove_in_time(shared->folder);
    return childless;
  }

  const pid_t agent_;
  int heartbeat_fd_;
  const int signal_fd_;
  const int stop_fd_;
  const milliseconds stall_limit_;
  const SignalFilter& concerns_agent_;
  sigset_t forwarded_;
  bool takes_queued_ = false;
  int last_queued_ = 0;
  bool resting_ = false;               // SIGTSTP was forwarded, and no SIGCONT since
  std::optional<int> status_;          // the agent's wait status once it has ended
  std::optional<SteadyTime> ends_by_;  // once it has told its code
};

}  // namespace

int queued_signal() {
  return SIGRTMIN;
}

int keep(const std::function<int(int)>& agent, milliseconds stall_limit,
         std::span<const int> named_signals, const SignalFilter& concerns_agent) {
  auto pipe = process::make_pipe(O_NONBLOCK);
  if (!pipe) return give_up(pipe.error());
  auto& [beats, beat_writer] = *pipe;
  void* const page =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED) {
    shared = static_cast<Shared*>(page);
    keep_unfinished_on_stderr(shared->unfinished);
  }

  spawn::become_subreaper();
  sigset_t watched = forwarded_signals(named_signals);
  ::sigaddset(&watched, SIGCHLD);
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &watched, &before);
  const sigset_t stop = stop_signal();
  ::sigprocmask(SIG_BLOCK, &stop, nullptr);
  const Fd signals(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  const Fd stops(::signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals || !stops) {
    say(fail_errno("cannot watch for signals", more_open_files).error().line());
    return exit_failure;
  }

  const pid_t keeper = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    Fd(beats.get()).reset();
    Fd(signals.get()).reset();
    Fd(stops.get()).reset();
    become_agent(agent, beat_writer.get(), keeper, before);
  }
  if (pid < 0) {
    say(fail_errno("cannot start the agent", "raise the limit on processes (ulimit -u)")
            .error()
            .line());
    return exit_failure;
  }
  ::setpgid(pid, pid);  // here too, so that a signal from the terminal never finds it in our group
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  beat_writer.reset();
  return Keeper(pid, {beats.get(), signals.get(), stops.get()}, stall_limit, concerns_agent)
      .watch();
}

void tell_keeper_of_code(int exit_code) {
  if (shared == nullptr) return;
  shared->exit_code = exit_code;
  shared->over = true;
  const char byte = 'e';  // any byte wakes the keeper
  [[maybe_unused]] const ssize_t n = ::write(heartbeat_of_agent, &byte, 1);
}

// The standard streams first: closing a file on a file server may block for ever as well.
void leave(int exit_code) {
  flush_said();
  tell_keeper_of_code(exit_code);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(fd);
#ifdef SYS_close_range
  ::syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
#endif
  ::_exit(exit_code);
}

void keeper_removes(const std::string& folder) {
  if (shared == nullptr || folder.size() >= sizeof shared->folder) return;
  std::memcpy(shared->folder, folder.c_str(), folder.size() + 1);
}

void tell_keeper_of_joining() {
  if (shared != nullptr) shared->joined = true;
}

std::string death_before_joining() {
  return shared != nullptr && shared->joined ? std::string() : death_text;
}

void tell_keeper_of_silence() {
  if (shared != nullptr) shared->silence = true;
}

bool agent_reported_of_silence() {
  return shared != nullptr && shared->silence;
}

bool keeper_rests() {
  return shared != nullptr && shared->resting;
}

}  // namespace toprun::worker
