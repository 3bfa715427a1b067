#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "machine/stacks/frame.h"

namespace toprun::stacks {

// The Python frames of each thread, innermost first, by the kernel's thread id.
using StacksByThread = std::map<int, std::vector<Frame>>;

// Parses the output of `py-spy dump --json` (py-spy 0.3 and 0.4): a list of threads with
// os_thread_id and frames with name, filename, line.
Result<StacksByThread> parse_spy(std::string_view json);

// Runs py-spy if it is in PATH. With --nonblocking, py-spy does not stop the process.
Result<StacksByThread> ask_spy(pid_t pid, const Environment& environment,
                               std::chrono::milliseconds limit);

// Observes a process from outside, without stopping or changing it: through /proc and its memory
// (process_vm_readv(2)). The observation also works if the process is stopped, hangs in the kernel,
// or holds Python's lock in a loop in C. If the kernel's Yama module is on with ptrace_scope 1,
// only an ancestor is allowed to observe a process.
//
// Every function returns within its time limit. A read can block in the kernel (a page of a file on
// a server that does not answer). In this case the call returns, and the read continues on its own
// thread (within.h).

struct Thread {
  int id = 0;              // the kernel's id, in this process's namespace
  char state = '?';        // as in /proc/PID/stat: R S D T t Z X I
  std::string name = {};   // comm
  std::string wchan = {};  // kernel function in which the thread waits; empty: unknown, or none
  std::vector<Frame> python = {};  // innermost first; empty: no frames were read
};

struct Process {
  pid_t pid = 0;
  std::string command = {};          // comm; empty: the process is gone
  std::vector<Thread> threads = {};  // the main thread first
  // Why no Python frames could be read, and how to change this, as a phrase. Empty if the frames
  // were read, or if the process is not Python.
  std::string no_python = {};
  std::vector<Process> children = {};
};

inline constexpr std::size_t most_processes = 64;  // limit for one call; parents are read before
                                                   // children
inline constexpr std::size_t most_threads = 512;   // per process
inline constexpr std::chrono::milliseconds look_limit{2'500};    // time limit for all processes
inline constexpr std::chrono::milliseconds memory_limit{1'000};  // time limit for one process's
                                                                 // memory

// Reads the state of a process and its descendants as far as possible. If toprun does not know the
// process's version of Python, inspect() uses py-spy, if py-spy is in the PATH of `environment`.
// Blocks up to look_limit.
Process inspect(pid_t pid, const Environment& environment = {});

// Reads the main thread's Python stack repeatedly; finds the interpreter only once.
class Reader {
 public:
  // Finds the interpreter. Errors: not CPython in a known version, no permission to read its
  // memory, or no result within memory_limit.
  static Result<Reader> open(pid_t pid);
  // Reads the stack, innermost first; empty: no Python function runs. Blocks up to memory_limit.
  // Errors: the process is gone, Python is shutting down, or the previous call has not ended yet.
  Result<std::vector<Frame>> main_stack();
  // Whether a thread of the process holds Python's lock (the GIL). The thread that holds the lock
  // executes Python code, or C code that does not release it. Unset: unknown.
  std::optional<bool> is_locked();

  struct Impl;

 private:
  explicit Reader(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;  // shared with a thread that may be stuck
};

}  // namespace toprun::stacks
