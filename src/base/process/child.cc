#include "base/process/child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>

#include "base/process/process_tree.h"

namespace toprun::process {
namespace {

// A caller that reaps all children also reaps commands, perhaps before start() knows their pids.
struct Commands {
  std::mutex mutex;
  std::condition_variable changed;  // starting or pauses is 0
  int starting = 0;
  int pauses = 0;
  std::map<pid_t, std::optional<int>> running;  // its status if another thread reaped it
  std::map<pid_t, int> unknown;                 // reaped while commands were starting
};
std::atomic<int> kept_by_commands = -1;

Commands& commands() {
  static Commands all;
  return all;
}

void begin_to_start() {
  Commands& all = commands();
  std::unique_lock lock(all.mutex);
  all.changed.wait(lock, [&] { return all.pauses == 0; });
  ++all.starting;
}

void end_to_start(std::optional<pid_t> pid) {
  Commands& all = commands();
  const std::lock_guard lock(all.mutex);
  if (pid) {
    const auto reaped = all.unknown.find(*pid);
    all.running[*pid] = reaped == all.unknown.end() ? std::nullopt : std::optional(reaped->second);
  }
  if (--all.starting > 0) return;
  all.unknown.clear();
  all.changed.notify_all();
}

// Those that called no exec yet: it changes the command line.
std::vector<pid_t> children_that_are_copies() {
  std::vector<pid_t> children = children_of(::getpid());
  std::erase_if(children, [](pid_t pid) { return !is_copy(pid, ::getpid()); });
  return children;
}

}  // namespace

std::vector<char*> exec_pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  // exec takes non-const pointers, but does not modify the strings.
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

std::initializer_list<int> terminal_signals() {
  static constexpr std::initializer_list<int> signals = {SIGINT, SIGQUIT, SIGTSTP};
  return signals;
}

Result<pid_t> start(const std::string& program, const std::vector<std::string>& argv,
                    const Environment& environment, const Start& how) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const auto& [ours, theirs] :
       {std::pair{how.in, STDIN_FILENO}, {how.out, STDOUT_FILENO}, {how.err, STDERR_FILENO}}) {
    if (ours >= 0) posix_spawn_file_actions_adddup2(&actions, ours, theirs);
  }
  int first_closed = STDERR_FILENO + 1;
  if (const int kept = kept_by_commands; kept >= 0) {
    posix_spawn_file_actions_adddup2(&actions, kept, first_closed++);
  }
  // Asio's sockets are inherited, and a command that hangs would keep an agent's connections open.
  posix_spawn_file_actions_addclosefrom_np(&actions, first_closed);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  short flags = 0;
  sigset_t defaults;
  if (how.signals == Start::Signals::all_default) {
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    flags |= POSIX_SPAWN_SETSIGMASK;
    sigfillset(&defaults);
  } else {
    sigemptyset(&defaults);
    for (const int signal : terminal_signals()) sigaddset(&defaults, signal);
  }
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  if (how.signals != Start::Signals::as_ours) flags |= POSIX_SPAWN_SETSIGDEF;
  posix_spawnattr_setpgroup(&attributes, 0);
  if (how.own_group) flags |= POSIX_SPAWN_SETPGROUP;
  posix_spawnattr_setflags(&attributes, flags);
  const std::vector<std::string> entries = environment.entries();
  pid_t pid = -1;
  begin_to_start();
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, &attributes,
                                  exec_pointers(argv).data(), exec_pointers(entries).data());
  end_to_start(error == 0 ? std::optional(pid) : std::nullopt);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail_errno(error, "cannot start " + program);
  return pid;
}

KeptByCommands::KeptByCommands(int fd) {
  kept_by_commands = fd;
}

KeptByCommands::~KeptByCommands() {
  kept_by_commands = -1;
}

pid_t fork_with_signals_blocked() {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) return pid;
  const int code = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = code;
  return pid;
}

int await_end(pid_t pid) {
  siginfo_t ended{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  Commands& all = commands();
  const std::lock_guard lock(all.mutex);
  const auto command = all.running.extract(pid);
  if (command && command.mapped()) return *command.mapped();
  int status = 0;
  ::waitpid(pid, &status, WNOHANG);
  return status;
}

void signal_command(pid_t pid, int signal) {
  const std::lock_guard lock(commands().mutex);
  const auto command = commands().running.find(pid);
  if (command != commands().running.end() && !command->second) signal_group(pid, signal);
}

std::vector<pid_t> running_commands() {
  const std::lock_guard lock(commands().mutex);
  std::vector<pid_t> pids;
  for (const auto& [pid, status] : commands().running) {
    if (!status) pids.push_back(pid);
  }
  return pids;
}

StartsPaused::StartsPaused() {
  constexpr std::chrono::milliseconds between_looks{1};
  const auto deadline = std::chrono::steady_clock::now() + start_limit;
  Commands& all = process::commands();
  std::unique_lock lock(all.mutex);
  ++all.pauses;
  while (all.starting > 0 && std::chrono::steady_clock::now() < deadline) {
    starting_ = children_that_are_copies();
    if (std::ssize(starting_) >= all.starting) return;
    all.changed.wait_for(lock, between_looks);
  }
}

std::vector<pid_t> StartsPaused::commands() const {
  std::vector<pid_t> pids = running_commands();
  pids.insert(pids.end(), starting_.begin(), starting_.end());
  return pids;
}

StartsPaused::~StartsPaused() {
  Commands& all = process::commands();
  const std::lock_guard lock(all.mutex);
  if (--all.pauses == 0) all.changed.notify_all();
}

pid_t reap_any(int& status) {
  Commands& all = commands();
  const std::lock_guard lock(all.mutex);
  for (;;) {
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) return pid;
    const auto command = all.running.find(pid);
    if (command == all.running.end()) {
      if (all.starting > 0) all.unknown[pid] = status;
      return pid;
    }
    command->second = status;
  }
}

int exit_code(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void end_at_once(int exit_code) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    if (exit_code == 128 + signal) ::raise(signal);
  }
}

bool signal_process(pid_t pid, int signal) {
  errno = ESRCH;
  return pid > 0 && ::kill(pid, signal) == 0;
}

bool signal_group(pid_t leader, int signal) {
  errno = ESRCH;
  return leader > 1 && ::kill(-leader, signal) == 0;
}

Result<Pipe> make_pipe(int more) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | more) != 0) {
    return fail_errno("cannot make a pipe", more_open_files);
  }
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

void read_lines(int fd, std::size_t most_bytes,
                const std::function<void(std::string_view line)>& on_line) {
  std::string unfinished;
  for (;;) {
    std::array<char, 4096> buffer;
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    unfinished.append(buffer.data(), static_cast<std::size_t>(n));
    for (std::size_t end; (end = unfinished.find('\n')) != std::string::npos;) {
      on_line(std::string_view(unfinished).substr(0, end));
      unfinished.erase(0, end + 1);
    }
    if (unfinished.size() < most_bytes) continue;
    on_line(unfinished);
    unfinished.clear();
  }
  if (!unfinished.empty()) on_line(unfinished);
}

}  // namespace toprun::process
