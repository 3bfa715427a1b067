#include "scheduler/terminal_command.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/console.h"
#include "base/fd.h"
#include "base/process.h"

namespace toprun::scheduler {
namespace {

constexpr std::size_t most_held_bytes = 64 * 1024;
constexpr std::array<int, 3> terminals_signals = {SIGINT, SIGQUIT, SIGTSTP};

// The command gets the default of the signals that this process is about to ignore.
Result<pid_t> start(const std::string& program, std::vector<std::string> argv,
                    const Environment& environment, int err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int signal : terminals_signals) sigaddset(&defaults, signal);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> entries = environment.entries();
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, &attributes,
                                  exec_pointers(argv).data(), exec_pointers(entries).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail_errno(error, "cannot start " + program);
  return pid;
}

void take_line(Ended& ended, std::string_view line, std::string_view grant) {
  if (!ended.granted && line.find(grant) != std::string_view::npos) ended.granted = true;
  const bool held = !ended.granted && line.find("error:") != std::string_view::npos;
  if (!held) return say_block(line);
  if (ended.errors.size() < most_held_bytes) ended.errors += line;
}

void read_errors(int fd, Ended& ended, std::string_view grant) {
  std::string unfinished;
  for (;;) {
    std::array<char, 4096> buffer;
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    unfinished.append(buffer.data(), static_cast<std::size_t>(n));
    for (std::size_t end; (end = unfinished.find('\n')) != std::string::npos;) {
      take_line(ended, std::string_view(unfinished).substr(0, end + 1), grant);
      unfinished.erase(0, end + 1);
    }
    if (unfinished.size() < most_held_bytes) continue;
    take_line(ended, unfinished, grant);
    unfinished.clear();
  }
  if (!unfinished.empty()) take_line(ended, unfinished + '\n', grant);
}

}  // namespace

Result<Ended> run_on_terminal(const std::vector<std::string>& argv, const Environment& environment,
                              std::string_view grant) {
  const auto program = find_program(argv.front(), environment);
  if (!program)
    return fail("cannot run " + argv.front(), fmt::format("no {} in PATH", argv.front()));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("cannot make a pipe");
  Fd reading(ends[0]);
  Fd writing(ends[1]);
  const auto pid = start(*program, argv, environment, writing.get());
  writing.reset();
  if (!pid) return std::unexpected(pid.error());
  for (const int signal : terminals_signals) ::signal(signal, SIG_IGN);
  Ended ended;
  ended.granted = grant.empty();
  read_errors(reading.get(), ended, grant);
  int status = 0;
  while (::waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  ended.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return ended;
}

}  // namespace toprun::scheduler
