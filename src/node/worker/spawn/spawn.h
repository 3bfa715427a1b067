#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <bitset>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/process/frames.h"
#include "base/text/error.h"
#include "node/worker/spawn/view.h"

namespace toprun::spawn {

// Process attributes that toprun inherited and restores for workers: signal mask and dispositions,
// umask, resource limits, CPU affinity. The attributes are captured at the start of main, before
// any change and while there is only one thread.
struct Inherited {
  static constexpr int signals = 65;     // numbers 1…64; 0 is unused
  static constexpr int max_cpus = 8192;  // the kernel's own upper limit on x86-64 and arm64
  static constexpr int no_affinity = 0;  // the value of affinity_bytes if the kernel returned no
                                         // affinity

  sigset_t mask{};
  std::bitset<signals> ignored;  // SIG_IGN, as under nohup; all other signals have SIG_DFL
  mode_t umask = 022;
  std::array<rlimit, RLIM_NLIMITS> limits{};
  std::array<std::byte, max_cpus / 8> affinity{};
  int affinity_bytes = no_affinity;
  std::vector<int> descriptors;  // descriptors above 2, such as an engine's connection to its task

  // Returns the CPUs in the affinity mask, ascending.
  std::vector<int> cpus() const;

  // Reads the attributes of this process. Before it reads them, opens /dev/null for each of the
  // descriptors 0, 1 and 2 that is closed, so that no other file of this process becomes a worker's
  // stdin, stdout or stderr.
  static Inherited capture();

  // Restores all attributes in the calling process, the signal mask last. Async-signal-safe, for
  // use in the child of a fork before its exec.
  void restore() const;
};

// Returns a CPU mask in the format of sched_setaffinity(2).
std::vector<std::byte> affinity_mask(const std::vector<int>& cpus);

// How long spawn() waits for the kernel to load all programs. A program that takes longer, because
// a file system hangs, counts as started. If its start fails later, the process exits with
// `exec_failed`.
inline constexpr std::chrono::seconds exec_limit{1};
inline constexpr int exec_failed = 127;

// A program to start in its own session and process group. The program receives SIGKILL when the
// thread that started it ends.
struct Program {
  std::string path = {};  // the result of find_programs(), if already known
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // entries of the form NAME=VALUE
  int stdin_fd = -1;
  int stdout_fd = -1;
  int stderr_fd = -1;
  std::vector<std::byte> affinity =
      {};  // in the format of sched_setaffinity(2); empty: the inherited affinity
  std::vector<int> kept_fds = {};  // descriptors that stay open in addition to the three above
  // How the program sees the file system; null: as this process sees it.
  std::shared_ptr<const View> view = {};
};

// Finds the program files of workers, and caches the result of the last search.
class ProgramSearch {
 public:
  // Errors name `host`.
  explicit ProgramSearch(std::string host) : host_(std::move(host)) {}
  // Returns the file that execvp would run for `name`: the name itself if it contains a slash, else
  // the first executable file with that name in the folders of `path_variable` (a value of PATH).
  Result<std::string> find(const std::string& name, const std::string& path_variable);

 private:
  std::string host_, name_, path_variable_, found_;
};

// Sets each program's path from its argv[0] and its own PATH.
Result<void> find_programs(std::span<Program> programs, const std::string& host);

// Starts all programs or none and returns their process ids in order. If a program cannot be
// started, the other programs are killed. Each started process inherits only the descriptors that
// its Program lists. The error names the program and `host`. Calls `beat`, which sends a heartbeat,
// after each program and while spawn() waits. Safe in a process with several threads.
Result<std::vector<pid_t>> spawn(std::span<const Program> programs, const Inherited& inherited,
                                 const std::string& host, const process::Beat& beat = {});

}  // namespace toprun::spawn
