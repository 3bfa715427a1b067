#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace toprun::stacks {

// The resources that a process has used since its start, to judge whether it works. CPU times are
// exact if the kernel counts nanoseconds (schedstat in proc(5)). Otherwise CPU times are in clock
// ticks, and the difference of two CPU times may be wrong by two ticks.
struct Usage {
  char state = '?';  // the state of its main thread, as in /proc/PID/stat
  // The CPU time of its main thread, and of children that it has waited for.
  std::chrono::nanoseconds main_cpu{0};
  std::chrono::nanoseconds cpu{0};  // the CPU time of all its threads, and of the same children
  // The CPU time of its live descendants, plus the time for which their main threads waited for a
  // CPU. So a compiler counts as working even on a busy machine.
  std::chrono::nanoseconds child_cpu{0};
  std::uint64_t main_bytes = 0;   // read and written by its main thread, not through sockets
  std::uint64_t main_faults = 0;  // pages that its main thread touched for the first time
  int processes = 0;              // including its descendants

  bool operator==(const Usage&) const = default;
};
inline constexpr std::chrono::milliseconds usage_limit{500};
// nullopt: the process is gone, or the kernel did not answer within usage_limit.
std::optional<Usage> usage(pid_t pid);
std::uint64_t ticks_per_second();

// A value that changes whenever a thread of the process runs. Reading a Pulse is faster than
// reading a Usage.
struct Pulse {
  char state = '?';                 // as in Usage
  std::uint64_t main_turns = 0;     // how often its main thread was scheduled on a CPU
  std::chrono::nanoseconds cpu{0};  // of all its threads

  bool operator==(const Pulse&) const = default;
};
// nullopt: the process is gone, or the kernel does not count (schedstat in proc(5)). Does not
// block.
std::optional<Pulse> pulse(pid_t pid);

// The process that has the id `inner` in its own PID namespace and these entries ("NAME=value") in
// its initial environment. 0: there is no such process, or toprun has no permission to read its
// files. Reads all of /proc.
pid_t outer_id(pid_t inner, std::span<const std::string> entries);

// Whether the process has a GPU open. May block, like all of /proc.
bool has_gpu(pid_t pid);

}  // namespace toprun::stacks
