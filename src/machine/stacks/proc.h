#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "machine/stacks/memory.h"

namespace toprun::stacks {

// Parsers for files in /proc/PID, in the format of proc(5).

// Returns the content of any file; "" if the file cannot be read.
std::string contents_of(const std::string& path);

// The `stat` file of a process or thread. Times are in clock ticks.
struct Stat {
  std::string command;
  char state = '?';
  std::uint64_t minor_faults = 0, major_faults = 0;  // reaped children included
  std::uint64_t cpu_ticks = 0;                       // user and system, reaped children included
  std::uint64_t reaped_ticks = 0;                    // of the reaped children only
  int threads = 0;
  std::uint64_t resident_pages = 0;

  bool operator==(const Stat&) const = default;
};
std::optional<Stat> parse_stat(std::string_view text);

// Returns the number after "NAME:" in /proc/PID/status or /proc/PID/io.
std::optional<std::uint64_t> labelled_number(std::string_view text, std::string_view name);
// Returns the bytes in a line of /proc/meminfo: "MemTotal:   16384 kB".
std::optional<std::uint64_t> labelled_bytes(std::string_view text, std::string_view name);

// Returns the id within the process's own PID namespace: the last number in NSpid in
// /proc/PID/status.
std::optional<int> inner_id(std::string_view status);

// A range of a process's memory into which a file is mapped, from /proc/PID/maps.
struct Mapping {
  Address start = 0, end = 0, offset = 0;
  bool writable = false;
  std::string path;  // as the process sees it; ends in " (deleted)" for a deleted file

  bool operator==(const Mapping&) const = default;
};
inline constexpr std::size_t most_mappings = 65'536;
std::vector<Mapping> parse_maps(std::string_view text);

// The resources that a process has used since its start, to judge whether the process is active.
// CPU times are exact if the kernel counts nanoseconds (schedstat in proc(5)). Otherwise CPU times
// are in clock ticks, and the difference of two CPU times may be wrong by two ticks.
struct Usage {
  char state = '?';  // the state of its main thread, as in /proc/PID/stat
  // The CPU time of the main thread, and of children that the process has waited for.
  std::chrono::nanoseconds main_cpu{0};
  std::chrono::nanoseconds cpu{0};  // the CPU time of all threads, and of the same children
  // The CPU time of the process's live descendants, plus the time for which their main threads
  // waited for a CPU. Because waiting counts, a compiler that the process has started is seen as
  // active even on a busy machine.
  std::chrono::nanoseconds child_cpu{0};
  std::uint64_t main_bytes = 0;   // read and written by its main thread, not through sockets
  std::uint64_t main_faults = 0;  // pages that its main thread touched for the first time
  int processes = 0;              // including its descendants

  bool operator==(const Usage&) const = default;
};
inline constexpr std::chrono::milliseconds usage_limit{500};
// Reads the usage. nullopt: the process is gone, or the kernel did not answer within usage_limit.
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
// Reads the pulse; does not block. nullopt: the process is gone, or the kernel keeps no such
// counter (schedstat in proc(5)).
std::optional<Pulse> pulse(pid_t pid);

// Finds a process by its id in its own PID namespace (`inner`), and by entries of its initial
// environment ("NAME=value"). 0: there is no such process, or toprun has no permission to read its
// files. Reads all of /proc.
pid_t outer_id(pid_t inner, std::span<const std::string> entries);

// Whether the process has a GPU open. May block, like all of /proc.
bool has_gpu(pid_t pid);

}  // namespace toprun::stacks
