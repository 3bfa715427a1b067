#include "base/process/disk_space.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/os/fd.h"
#include "base/process/child.h"
#include "base/text/clock.h"
#include "base/text/error.h"

namespace toprun::process {
namespace {

// The child's answer. With a path it exceeds PIPE_BUF, but a pipe holds 64 KiB.
struct Wire {
  int error = 0;
  std::uint64_t numbers[4] = {};
  char path[PATH_MAX] = {};
};

struct Child {
  pid_t pid = -1;
  Fd answer;
};

[[noreturn]] void answer_and_exit(const char* path, int out) {
  Wire wire;
  struct statvfs space {};
  if (::realpath(path, wire.path) == nullptr || ::statvfs(wire.path, &space) != 0) {
    wire.error = errno;
  }
  wire.numbers[0] = std::uint64_t{space.f_blocks} * space.f_frsize;
  wire.numbers[1] = std::uint64_t{space.f_bavail} * space.f_frsize;
  wire.numbers[2] = space.f_files;
  wire.numbers[3] = space.f_favail;
  const ssize_t n = ::write(out, &wire, sizeof wire);
  ::_exit(n == sizeof wire ? 0 : 1);
}

Child start(const std::string& path) {
  auto pipe = make_pipe();
  if (!pipe) return {};
  const pid_t pid = fork_with_signals_blocked();
  if (pid == 0) answer_and_exit(path.c_str(), pipe->write.get());
  if (pid < 0) return {};
  return {pid, std::move(pipe->read)};
}

DiskAnswer answer_of(const Wire& wire) {
  if (wire.error != 0) return {std::nullopt, errno_text(wire.error)};
  DiskSpace space;
  space.real_path = wire.path;
  space.total_bytes = wire.numbers[0];
  space.free_bytes = wire.numbers[1];
  space.total_files = wire.numbers[2];
  space.free_files = wire.numbers[3];
  return {std::move(space), {}};
}

// Does not wait for the child, because on a file system that hangs even SIGKILL may not end it.
DiskAnswer collect(const Child& child, SteadyTime deadline, std::chrono::milliseconds timeout) {
  if (child.pid < 0) return {std::nullopt, "cannot start a process"};
  Wire wire;
  std::size_t got = 0;
  while (got < sizeof wire) {
    pollfd polled{child.answer.get(), POLLIN, 0};
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0 || ::poll(&polled, 1, static_cast<int>(left.count())) == 0) {
      signal_process(child.pid, SIGKILL);
      ::waitpid(child.pid, nullptr, WNOHANG);
      return {std::nullopt, "no answer within " + duration_text(timeout)};
    }
    const ssize_t n =
        ::read(child.answer.get(), reinterpret_cast<char*>(&wire) + got, sizeof wire - got);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  ::waitpid(child.pid, nullptr, 0);
  if (got < sizeof wire) return {std::nullopt, "the process that asked was killed"};
  return answer_of(wire);
}

}  // namespace

std::vector<DiskAnswer> disk_space(const std::vector<std::string>& paths,
                                   std::chrono::milliseconds timeout) {
  std::vector<Child> children;
  for (const std::string& path : paths) children.push_back(start(path));
  const SteadyTime deadline = std::chrono::steady_clock::now() + timeout;
  std::vector<DiskAnswer> answers;
  for (const Child& child : children) answers.push_back(collect(child, deadline, timeout));
  return answers;
}

}  // namespace toprun::process
