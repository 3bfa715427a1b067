#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/process/beat.h"
#include "base/text/error.h"
#include "node/worker/spawn/inherited.h"
#include "node/worker/spawn/view.h"

namespace toprun::spawn {

// How long spawn() waits for the kernel to load all programs. If a program takes longer, because a
// file system hangs, it counts as started. If the start of such a program fails later, the process
// exits with `exec_failed`.
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

// Looks up programs for workers and caches the last result.
class ProgramSearch {
 public:
  // Errors name `host`.
  explicit ProgramSearch(std::string host) : host_(std::move(host)) {}
  // The file that execvp would run for `name`: the name itself if it contains a slash, else the
  // first executable file with that name in `path_variable`.
  Result<std::string> find(const std::string& name, const std::string& path_variable);

 private:
  std::string host_, name_, path_variable_, found_;
};

// Sets each program's path from its argv[0] and its own PATH.
Result<void> find_programs(std::span<Program> programs, const std::string& host);

// Starts all programs or none and returns their process ids in order. If a program cannot be
// started, the other programs are killed. The programs keep only the named descriptors. The error
// names the program and `host`. Calls `beat` after each program, and while spawn() waits. Safe in a
// process with several threads.
Result<std::vector<pid_t>> spawn(std::span<const Program> programs, const Inherited& inherited,
                                 const std::string& host, const process::Beat& beat = {});

}  // namespace toprun::spawn
