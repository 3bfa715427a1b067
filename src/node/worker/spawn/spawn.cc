#include "node/worker/spawn/spawn.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/os/fd.h"
#include "base/process/child.h"
#include "base/process/command.h"
#include "base/text/text.h"

namespace toprun::spawn {
namespace {

int read_affinity(std::array<std::byte, Inherited::max_cpus / 8>& mask) {
  // The system call, unlike the C function, returns the size of the kernel's masks in bytes.
  const long bytes = ::syscall(SYS_sched_getaffinity, 0, mask.size(), mask.data());
  return bytes > 0 ? static_cast<int>(bytes) : Inherited::no_affinity;
}

std::vector<int> open_descriptors() {
  std::vector<int> descriptors;
  DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return descriptors;
  while (const dirent* const entry = ::readdir(folder)) {
    const int fd = std::atoi(entry->d_name);  // 0 also for "." and ".."
    if (fd > STDERR_FILENO && fd != ::dirfd(folder)) descriptors.push_back(fd);
  }
  ::closedir(folder);
  return descriptors;
}

using process::Beat;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kill_limit{2};
constexpr std::chrono::milliseconds kill_interval{1};
constexpr int first_foreign_fd = 3;
constexpr rlim_t most_fds_closed_one_by_one = 65536;
constexpr unsigned close_range_cloexec = 4;  // CLOSE_RANGE_CLOEXEC, Linux 5.11

// The child's report to its parent if exec fails, sent in one write: atomic on a pipe.
struct ExecFailure {
  std::size_t program;
  int code;
  enum class Step { exec, affinity, view } step;
};

void close_the_rest_on_exec() {
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, first_foreign_fd, ~0U, close_range_cloexec) == 0) return;
#endif
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const int end = static_cast<int>(std::min(limit.rlim_cur, most_fds_closed_one_by_one));
  for (int fd = first_foreign_fd; fd < end; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

// Built before the fork, because the child must not allocate.
struct Prepared {
  const Program* program;
  std::vector<char*> argv;
  std::vector<char*> envp;
};

// Runs in the child, with all signals blocked. Async-signal-safe calls only: another thread may
// have held any lock at the time of the fork.
[[noreturn]] void exec_child(const Prepared& prepared, std::size_t index,
                             const Inherited& inherited, pid_t parent, int failure_fd) {
  const View* const its_view = prepared.program->view.get();
  const bool sees = its_view == nullptr || its_view->enter();  // first: it may reset the next
  const int view_code = errno;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(exec_failed);  // the parent died before the call above
  ::setsid();
  // The three are at 3 or above (Inherited::capture ensures it), so none overwrites another.
  ::dup2(prepared.program->stdin_fd, STDIN_FILENO);
  ::dup2(prepared.program->stdout_fd, STDOUT_FILENO);
  ::dup2(prepared.program->stderr_fd, STDERR_FILENO);
  close_the_rest_on_exec();
  for (const int fd : prepared.program->kept_fds) ::fcntl(fd, F_SETFD, 0);
  inherited.restore();
  const std::vector<std::byte>& cpus = prepared.program->affinity;
  const bool unbound =
      sees && !cpus.empty() && ::syscall(SYS_sched_setaffinity, 0, cpus.size(), cpus.data()) < 0;
  if (sees && !unbound) {
    ::execve(prepared.program->path.c_str(), prepared.argv.data(), prepared.envp.data());
  }
  using Step = ExecFailure::Step;
  const ExecFailure failure{index, sees ? errno : view_code,
                            !sees     ? Step::view
                            : unbound ? Step::affinity
                                      : Step::exec};
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all,
                nullptr);  // avoids SIGPIPE if the parent no longer reads
  [[maybe_unused]] const ssize_t written = ::write(failure_fd, &failure, sizeof failure);
  ::_exit(exec_failed);
}

// The first failure that a child reports, null once all have executed their programs.
std::optional<ExecFailure> await_exec(int fd, const Beat& beat) {
  const auto deadline = steady_clock::now() + exec_limit;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now());
    if (left.count() <= 0) return std::nullopt;
    pollfd waiting{fd, POLLIN, 0};
    const auto patience = std::min(left, process::beat_interval);
    if (::poll(&waiting, 1, static_cast<int>(patience.count())) < 0 && errno != EINTR) {
      return std::nullopt;
    }
    if (beat) beat();
    if (waiting.revents == 0) continue;
    ExecFailure failure{};
    const ssize_t n = ::read(fd, &failure, sizeof failure);
    if (n == sizeof failure) return failure;
    if (n >= 0 || errno != EINTR) return std::nullopt;
  }
}

std::unexpected<Error> explain(const Program& program, int code, const std::string& host) {
  std::string fix;
  int exit_code = exit_usage;
  switch (code) {
    case ENOENT:
      fix = "the file exists, but the interpreter or loader that it names does not";
      break;
    case ENOEXEC:
      fix =
          "a script needs a first line such as #!/bin/sh; a binary must be for this machine's "
          "architecture";
      break;
    case EACCES:
      fix = "check its permissions, and that its file system is not mounted noexec";
      break;
    case E2BIG:
      fix = "its arguments and environment are too long for the kernel";
      break;
    default:
      exit_code = exit_failure;
  }
  return std::unexpected(Error{fmt::format("cannot run {} on {}", program.path, host),
                               errno_text(code), fix, exit_code});
}

// One that a file server holds in exec does not die of SIGKILL: the code that reaps all children
// finds it later.
void kill_and_reap(std::vector<pid_t> pids, const Beat& beat) {
  for (const pid_t pid : pids) process::signal_process(pid, SIGKILL);
  const auto deadline = steady_clock::now() + kill_limit;
  for (;;) {
    std::erase_if(pids, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
    if (pids.empty() || steady_clock::now() >= deadline) return;
    if (beat) beat();
    const timespec pause{0, std::chrono::nanoseconds(kill_interval).count()};
    ::nanosleep(&pause, nullptr);
  }
}

Result<std::string> look_up(const std::string& name, const std::string& path_variable,
                            const std::string& host) {
  if (name.find('/') != std::string::npos) {
    std::error_code ignored;
    if (std::filesystem::is_directory(name, ignored)) {
      return usage(fmt::format("cannot run {} on {}", name, host), "it is a directory");
    }
    if (::access(name.c_str(), F_OK) != 0) {
      return usage(fmt::format("cannot run {} on {}", name, host), errno_text(errno));
    }
    if (::access(name.c_str(), X_OK) != 0) {
      return usage(
          fmt::format("cannot run {} on {}", name, host), errno_text(errno),
          "make the file executable (chmod +x), or leave out --no-python if it is a Python script");
    }
    return name;
  }
  if (auto path = process::find_program(name, {{"PATH", path_variable}})) return *std::move(path);
  return usage(fmt::format("cannot run {} on {}", name, host), "it is not found in PATH",
               "give the program's path, or write ./" + name + " if it is in the current folder");
}

}  // namespace

Inherited Inherited::capture() {
  while (true) {
    const int fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd < 0) break;
    if (fd > STDERR_FILENO) {
      ::close(fd);
      break;
    }
    ::fcntl(fd, F_SETFD, 0);
  }

  Inherited inherited;
  ::sigprocmask(SIG_SETMASK, nullptr, &inherited.mask);
  for (int number = 1; number < signals; ++number) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) {
      inherited.ignored.set(static_cast<std::size_t>(number));
    }
  }
  inherited.umask = ::umask(0);
  ::umask(inherited.umask);
  for (unsigned i = 0; i < RLIM_NLIMITS; ++i) {
    ::getrlimit(static_cast<__rlimit_resource>(i), &inherited.limits[i]);
  }
  inherited.affinity_bytes = read_affinity(inherited.affinity);
  inherited.descriptors = open_descriptors();
  return inherited;
}

std::vector<int> Inherited::cpus() const {
  std::vector<int> out;
  for (int cpu = 0; cpu < affinity_bytes * 8; ++cpu) {
    const auto byte = static_cast<std::size_t>(cpu / 8);
    if ((affinity[byte] & (std::byte{1} << (cpu % 8))) != std::byte{0}) out.push_back(cpu);
  }
  return out;
}

void Inherited::restore() const {
  for (int number = 1; number < signals; ++number) {
    struct sigaction action {};
    action.sa_handler = ignored[static_cast<std::size_t>(number)] ? SIG_IGN : SIG_DFL;
    ::sigaction(number, &action, nullptr);  // fails for SIGKILL, SIGSTOP and glibc's own two
  }
  ::umask(umask);
  for (unsigned i = 0; i < RLIM_NLIMITS; ++i) {
    ::setrlimit(static_cast<__rlimit_resource>(i), &limits[i]);
  }
  // Restored only if changed: a process that has ever set its affinity, even to the same CPUs, does
  // not get the new CPUs when its cpuset grows.
  std::array<std::byte, max_cpus / 8> now{};
  const int now_bytes = read_affinity(now);
  if (affinity_bytes != no_affinity && now_bytes == affinity_bytes &&
      std::memcmp(now.data(), affinity.data(), static_cast<std::size_t>(now_bytes)) != 0) {
    ::syscall(SYS_sched_setaffinity, 0, affinity_bytes, affinity.data());
  }
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
}

// Bytes equal the kernel's words only on little-endian machines, the only ones that toprun
// supports; the mask is padded to whole words.
std::vector<std::byte> affinity_mask(const std::vector<int>& cpus) {
  constexpr std::size_t word = sizeof(unsigned long);
  std::vector<std::byte> mask;
  for (const int cpu : cpus) {
    const auto byte = static_cast<std::size_t>(cpu / 8);
    if (byte >= mask.size()) mask.resize((byte / word + 1) * word);
    mask[byte] |= std::byte{1} << (cpu % 8);
  }
  return mask;
}

Result<std::string> ProgramSearch::find(const std::string& name, const std::string& path_variable) {
  if (!found_.empty() && name == name_ && path_variable == path_variable_) return found_;
  auto found = look_up(name, path_variable, host_);
  if (found) {
    name_ = name;
    path_variable_ = path_variable;
    found_ = *found;
  }
  return found;
}

Result<void> find_programs(std::span<Program> programs, const std::string& host) {
  ProgramSearch search(host);
  for (Program& program : programs) {
    if (!program.path.empty()) continue;
    constexpr std::string_view variable = "PATH=";
    const auto entry = std::ranges::find_if(
        program.environment, [&](const std::string& text) { return text.starts_with(variable); });
    const std::string path =
        entry == program.environment.end() ? "" : entry->substr(variable.size());
    program.path = TRY(search.find(program.argv.at(0), path));
  }
  return {};
}

Result<std::vector<pid_t>> spawn(std::span<const Program> programs, const Inherited& inherited,
                                 const std::string& host, const process::Beat& beat) {
  std::vector<Prepared> prepared;
  prepared.reserve(programs.size());
  for (const Program& program : programs) {
    prepared.push_back({&program, process::exec_pointers(program.argv),
                        process::exec_pointers(program.environment)});
  }
  auto pipe = process::make_pipe();
  if (!pipe) return fail("cannot start workers on " + host, pipe.error()->why, pipe.error()->fix);
  auto& [failures, failure_writer] = *pipe;

  const pid_t parent = ::getpid();
  std::vector<pid_t> pids;
  for (std::size_t i = 0; i < prepared.size(); ++i) {
    const pid_t pid = process::fork_with_signals_blocked();
    if (pid == 0) exec_child(prepared[i], i, inherited, parent, failure_writer.get());
    if (pid < 0) {
      const int code = errno;
      kill_and_reap(pids, beat);
      return fail_errno(
          code, fmt::format("cannot start worker {} of {} on {}", i + 1, programs.size(), host),
          "raise the limit on processes (ulimit -u) or lower --nproc-per-node");
    }
    pids.push_back(pid);
    if (beat) beat();
  }
  failure_writer.reset();
  if (const auto failure = await_exec(failures.get(), beat)) {
    kill_and_reap(pids, beat);
    if (failure->step == ExecFailure::Step::view) {
      return fail_errno(failure->code, "cannot enter the mounts for workers on " + host);
    }
    if (failure->step == ExecFailure::Step::affinity) {
      return fail_errno(
          failure->code, "--numa-binding: cannot bind a worker on " + host,
          "the CPUs that this job may use have changed meanwhile: start the job again");
    }
    return explain(programs[failure->program], failure->code, host);
  }
  return pids;
}

}  // namespace toprun::spawn
