#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "agent/inherited.h"
#include "base/environment.h"
#include "base/error.h"

namespace toprun::agent {

// How long start-up waits for the kernel to load all programs. One that takes longer, from a file
// system that hangs, counts as started; should it fail after all, it exits with `exec_failed`.
inline constexpr std::chrono::seconds exec_limit{1};
inline constexpr int exec_failed = 127;

// A program to start in a session and process group of its own, which gets SIGKILL when the thread
// that started it ends.
struct Program {
  std::string path = {};  // as find_programs() gives it, where it is not there already
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // NAME=VALUE
  int stdin_fd = -1;
  int stdout_fd = -1;
  int stderr_fd = -1;
  std::vector<std::byte> affinity = {};  // as sched_setaffinity(2) takes it; empty: as inherited
  std::vector<int> kept_fds = {};        // besides the three
};

// Looks programs up for workers; what was looked up last is not looked up again.
class ProgramSearch {
 public:
  // Errors name `host`.
  explicit ProgramSearch(std::string host) : host_(std::move(host)) {}
  // The file that execvp would run for `name`: itself if it has a slash, else the first executable
  // file of that name in `path_variable`.
  Result<std::string> find(const std::string& name, const std::string& path_variable);

 private:
  std::string host_, name_, path_variable_, found_;
};

// Sets each program's path, by its argv[0] and its own PATH.
Result<void> find_programs(std::span<Program> programs, const std::string& host);

// Starts all or none and returns their process ids in order; none is left if one could not be
// started. Of our descriptors they keep only those named. The error names program and `host`.
// Safe in a process with several threads.
Result<std::vector<pid_t>> spawn(std::span<const Program> programs, const Inherited& inherited,
                                 const std::string& host,
                                 const std::function<void()>& started_one = {});

}  // namespace toprun::agent
