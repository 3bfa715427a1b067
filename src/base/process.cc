#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"

namespace toprun {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  Fd read, write;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("cannot make a pipe");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

// A file without a name that holds the text: unlike a pipe it never makes the writer wait.
Result<Fd> file_of(std::string_view text) {
  Fd file(::memfd_create("stdin", MFD_CLOEXEC));
  if (!file) return fail_errno("cannot make a file in memory");
  while (!text.empty()) {
    const ssize_t n = ::write(file.get(), text.data(), text.size());
    if (n < 0 && errno != EINTR) return fail_errno("cannot write a file in memory");
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

// The child starts with default signals, whatever this process blocks or ignores.
Result<pid_t> spawn(const std::string& program, std::vector<std::string> argv,
                    const Environment& environment, const Fd& in, const Pipe& out,
                    const Pipe& err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.write.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.write.get(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<std::string> entries = environment.entries();
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, &attributes,
                                  exec_pointers(argv).data(), exec_pointers(entries).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail_errno(error, "cannot start " + program);
  return pid;
}

// One stream of the child, read until its end.
struct Stream {
  Fd fd;
  std::string text;

  // False at the end of the stream.
  bool read_some() {
    char buffer[65536];
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (n <= 0) {
      fd.reset();
      return false;
    }
    text.append(buffer, static_cast<std::size_t>(n));
    return true;
  }
};

// Reads both streams to their ends; why that failed, if it did.
std::string collect(Stream& out, Stream& err, SteadyTime deadline,
                    std::chrono::milliseconds timeout) {
  while (out.fd || err.fd) {
    // A closed stream's descriptor is -1, which poll ignores.
    std::array<pollfd, 2> polled{pollfd{out.fd ? out.fd.get() : -1, POLLIN, 0},
                                 pollfd{err.fd ? err.fd.get() : -1, POLLIN, 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    const int ready = left.count() <= 0
                          ? 0
                          : ::poll(polled.data(), polled.size(), static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) return errno_text(errno);
    if (ready == 0) return fmt::format("no answer within {}", duration_text(timeout));
    if (ready < 0) continue;
    if (polled[0].revents != 0) out.read_some();
    if (polled[1].revents != 0) err.read_some();
    if (out.text.size() > max_output_bytes || err.text.size() > max_output_bytes) {
      return fmt::format("more than {} bytes of output", max_output_bytes);
    }
  }
  return {};
}

std::string quoted(const std::vector<std::string>& argv) {
  return fmt::format("`{}`", fmt::join(argv, " "));
}

// Whether the child, which stays unreaped, ends before the deadline.
bool ends_by(pid_t pid, SteadyTime deadline) {
  // By number: <sys/pidfd.h> of glibc 2.36 cannot be used from C++.
  const Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!handle) return true;  // kernels before 5.3: the wait that follows has no limit
  for (;;) {
    pollfd polled{handle.get(), POLLIN, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return false;
    const int ready = ::poll(&polled, 1, static_cast<int>(left.count()));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

}  // namespace

std::vector<char*> exec_pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  // What exec does not change it takes as if it could.
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

std::string search_path(const Environment& environment) {
  return environment.non_empty("PATH").value_or(std::string(default_path));
}

bool is_executable_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

std::optional<std::string> find_program(const std::string& name, const Environment& environment,
                                        const IsExecutable& is_executable) {
  if (name.empty()) return std::nullopt;
  if (name.find('/') != std::string::npos) {
    return is_executable(name) ? std::optional(name) : std::nullopt;
  }
  const std::string path = search_path(environment);
  for (std::string_view folder : split(path, ':')) {
    if (folder.empty()) folder = ".";
    std::string candidate = fmt::format("{}{}{}", folder, folder.ends_with('/') ? "" : "/", name);
    if (is_executable(candidate)) return candidate;
  }
  return std::nullopt;
}

bool signal_process(pid_t pid, int signal) {
  errno = ESRCH;
  return pid > 0 && ::kill(pid, signal) == 0;
}

bool signal_group(pid_t leader, int signal) {
  errno = ESRCH;
  return leader > 1 && ::kill(-leader, signal) == 0;
}

Result<Finished> finish(const std::vector<std::string>& argv, const Environment& environment,
                        std::chrono::milliseconds timeout, std::string_view input) {
  const auto program = find_program(argv[0], environment);
  if (!program) {
    return fail("cannot run " + quoted(argv), argv[0].find('/') == std::string::npos
                                                  ? fmt::format("no {} in PATH", argv[0])
                                                  : argv[0] + " is no executable file");
  }
  const auto in = file_of(input);
  if (!in) return std::unexpected(in.error());
  auto out_pipe = make_pipe();
  if (!out_pipe) return std::unexpected(out_pipe.error());
  auto err_pipe = make_pipe();
  if (!err_pipe) return std::unexpected(err_pipe.error());
  const auto pid = spawn(*program, argv, environment, *in, *out_pipe, *err_pipe);
  if (!pid) return std::unexpected(pid.error());
  out_pipe->write.reset();
  err_pipe->write.reset();

  Stream out{std::move(out_pipe->read), {}};
  Stream err{std::move(err_pipe->read), {}};
  const SteadyTime deadline = Clock::now() + timeout;
  std::string trouble = collect(out, err, deadline, timeout);
  if (trouble.empty() && !ends_by(*pid, deadline)) {
    trouble = fmt::format("still running after {}", duration_text(timeout));
  }
  // Also after a good end: what the command left in its group has no business here any more. The
  // group cannot be another's, because its leader is not reaped yet.
  signal_group(*pid, SIGKILL);
  int status = 0;
  while (::waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!trouble.empty()) return fail(quoted(argv) + " failed", trouble);
  const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return Finished{code, std::move(out.text), std::move(err.text)};
}

Result<std::string> output_of(const std::vector<std::string>& argv, const Environment& environment,
                              std::chrono::milliseconds timeout) {
  auto finished = finish(argv, environment, timeout);
  if (!finished) return std::unexpected(std::move(finished.error()));
  if (finished->code == 0) return std::move(finished->out);
  const std::string_view err = finished->err;
  const std::string_view reason = trim(err.substr(0, err.find('\n')));
  if (!reason.empty()) return fail(quoted(argv) + " failed", std::string(reason));
  return fail(quoted(argv) + " failed",
              finished->code > 128 ? fmt::format("killed by signal {}", finished->code - 128)
                                   : fmt::format("exit code {}", finished->code));
}

}  // namespace toprun
