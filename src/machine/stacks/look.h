#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "machine/stacks/frame.h"

namespace toprun::stacks {

// What can be seen of a process from outside, without stopping or changing it: by /proc and by its
// memory (process_vm_readv(2)), which also works where it is stopped, hangs in the kernel, or holds
// Python's lock in a loop of C. An ancestor may look under Yama's scope 1.
//
// Every call ends within its limit. What blocks in the kernel (a page of a file on a server that
// does not answer) is left behind on a thread of its own (within.h).

struct Thread {
  int id = 0;              // the kernel's, as this process sees it
  char state = '?';        // as in /proc/PID/stat: R S D T t Z X I
  std::string name = {};   // comm
  std::string wchan = {};  // the kernel function in which it waits; empty: it runs, or unknown
  std::vector<Frame> python = {};  // innermost first; empty: none was read
};

struct Process {
  pid_t pid = 0;
  std::string command = {};          // comm; empty: the process is gone
  std::vector<Thread> threads = {};  // the main thread first
  std::string no_python = {};  // why no Python frames could be read, and what to do, as a phrase;
                               // empty: they were, or it is not Python
  std::vector<Process> children = {};
};

inline constexpr std::size_t most_processes = 64;  // in one look, parents before children
inline constexpr std::size_t most_threads = 512;   // of a process
inline constexpr std::chrono::milliseconds look_limit{2'500};    // for all processes
inline constexpr std::chrono::milliseconds memory_limit{1'000};  // for the memory of one

// Reads what can be read of a process and of those below it. `environment` finds py-spy, which is
// asked where the version of Python is unknown here. Blocks up to look_limit.
Process look_at(pid_t pid, const Environment& environment = {});

// Reads the main thread's Python stack again and again: finds the interpreter once.
class Reader {
 public:
  // Error: no CPython of a known version, its memory may not be read, or it did not answer within
  // memory_limit.
  static Result<Reader> open(pid_t pid);
  // Innermost first; empty: no Python function runs. Blocks up to memory_limit. Error: the process
  // is gone or Python's end has begun, or the last call has not ended yet.
  Result<std::vector<Frame>> main_stack();
  // Whether a thread of it holds Python's lock: it runs Python, or C that keeps the lock. Nothing:
  // unknown.
  std::optional<bool> is_locked();

  struct Impl;

 private:
  explicit Reader(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;  // with a thread that is stuck
};

}  // namespace toprun::stacks
