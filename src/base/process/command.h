#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::process {

inline constexpr std::size_t max_output_bytes = 64u << 20;

// A command's exit code and output.
struct Finished {
  int code = 0;  // 128+n if signal n ended it
  std::string out;
  std::string err;
};

// Runs a command to its end, in its own process group, which is killed after `timeout`. The program
// is looked up in the environment's PATH; `input` is the program's whole stdin. This function
// blocks; any thread may call this function. Errors: program not found, time-out, too much output.
Result<Finished> run(const std::vector<std::string>& argv, const Environment& environment,
                     std::chrono::milliseconds timeout, std::string_view input = {});

// A command's stdout. Errors: those of run(), or an exit code other than 0. For such an exit code,
// the reason is the first line of the command's error message (complaint.h).
Result<std::string> output_of(const std::vector<std::string>& argv, const Environment& environment,
                              std::chrono::milliseconds timeout);

}  // namespace toprun::process
