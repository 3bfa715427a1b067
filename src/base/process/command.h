#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::process {

inline constexpr std::size_t max_output_bytes = 64u << 20;

// How a command ended and what it wrote.
struct Finished {
  int code = 0;  // 128+n: signal n ended it
  std::string out;
  std::string err;
};

// Runs a command to its end, in a process group of its own that is killed after `timeout`. The
// environment's PATH finds the program; `input` is its whole stdin. Blocks; any thread may call it.
// Error: not found, time-out, too much output.
Result<Finished> run(const std::vector<std::string>& argv, const Environment& environment,
                     std::chrono::milliseconds timeout, std::string_view input = {});

// A command's stdout. Error: as above, or an exit code other than 0, with the first line of its
// complaint (complaint.h) as the reason.
Result<std::string> output_of(const std::vector<std::string>& argv, const Environment& environment,
                              std::chrono::milliseconds timeout);

}  // namespace toprun::process
