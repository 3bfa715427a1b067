#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace toprun::stacks {

// What a process has used since its start, for the judgement whether it works. CPU times are exact
// where the kernel counts nanoseconds (schedstat in proc(5)); elsewhere they are clock ticks, and
// the difference of two may be wrong by two ticks.
struct Usage {
  char state = '?';  // of its main thread, as in /proc/PID/stat
  // By its main thread, and by children that it has waited for.
  std::chrono::nanoseconds main_cpu{0};
  std::chrono::nanoseconds cpu{0};  // by all its threads, and by the same children
  // By the processes below it that live; also time for which their main threads waited for a CPU,
  // so that a compiler on a machine with much other work is seen to work.
  std::chrono::nanoseconds child_cpu{0};
  std::uint64_t main_bytes = 0;   // read and written by its main thread, not on sockets
  std::uint64_t main_faults = 0;  // pages that its main thread touched for the first time
  int processes = 0;              // itself and those below it

  bool operator==(const Usage&) const = default;
};
inline constexpr std::chrono::milliseconds usage_limit{500};
// Nothing: the process is gone, or the kernel did not answer within usage_limit.
std::optional<Usage> usage(pid_t pid);
std::uint64_t ticks_per_second();

// Two that are equal: no thread of the process has run in between. Cheaper than its usage.
struct Pulse {
  char state = '?';                 // as in Usage
  std::uint64_t main_turns = 0;     // how often its main thread was given a CPU
  std::chrono::nanoseconds cpu{0};  // by all its threads

  bool operator==(const Pulse&) const = default;
};
// Nothing: the process is gone, or the kernel does not count (schedstat in proc(5)). Does not
// block.
std::optional<Pulse> pulse(pid_t pid);

// The process that has this id in a PID namespace of its own, and these entries ("NAME=value") in
// the environment with which it began; 0: there is none, or it may not be looked at. Reads all of
// /proc.
pid_t outer_id(pid_t inner, std::span<const std::string> entries);

// Whether it has a GPU open. May block like all of /proc.
bool has_gpu(pid_t pid);

}  // namespace toprun::stacks
