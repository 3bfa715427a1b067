#include "base/watched.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/fd.h"
#include "base/process.h"

namespace toprun {
namespace {

constexpr std::size_t longest_line_bytes = 64 * 1024;

Result<pid_t> start(const std::string& program, std::vector<std::string> argv,
                    const Environment& environment, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  std::vector<std::string> entries = environment.entries();
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, nullptr,
                                  exec_pointers(argv).data(), exec_pointers(entries).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail_errno(error, "cannot start " + program);
  return pid;
}

void read_lines(int fd, const std::function<void(std::string_view)>& on_line) {
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
    if (unfinished.size() < longest_line_bytes) continue;
    on_line(unfinished);
    unfinished.clear();
  }
  if (!unfinished.empty()) on_line(unfinished);
}

}  // namespace

Result<int> watch(const std::vector<std::string>& argv, const Environment& environment,
                  const std::function<void(std::string_view line)>& on_line) {
  const auto program = find_program(argv.front(), environment);
  if (!program) return fail("cannot run " + argv.front(), "there is no such program in PATH");
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("cannot make a pipe");
  Fd reading(ends[0]);
  Fd writing(ends[1]);
  const auto pid = start(*program, argv, environment, writing.get());
  writing.reset();
  if (!pid) return std::unexpected(pid.error());
  read_lines(reading.get(), on_line);
  int status = 0;
  while (::waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace toprun
