#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/stacks/memory.h"

namespace toprun::stacks {

// Parsers for files in /proc/PID, in the format of proc(5).

// The content of any file; "" if it cannot be read.
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

// The number after "NAME:" in the files status or io.
std::optional<std::uint64_t> labelled_number(std::string_view text, std::string_view name);

// The id within the process's own PID namespace: the last number in NSpid in the file status.
std::optional<int> inner_id(std::string_view status);

// A mapping of a file, from the file maps.
struct Mapping {
  Address start = 0, end = 0, offset = 0;
  bool writable = false;
  std::string path;  // as the process sees it; ends in " (deleted)" for a deleted file

  bool operator==(const Mapping&) const = default;
};
inline constexpr std::size_t most_mappings = 65'536;
std::vector<Mapping> parse_maps(std::string_view text);

}  // namespace toprun::stacks
