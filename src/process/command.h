#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/error.h"

namespace toprun::process {

inline constexpr std::size_t max_output_bytes = 64u << 20;

// How a command ended and what it wrote.
struct Finished {
  int code = 0;  // 128+n: signal n ended it
  std::string out;
  std::string err;
};

// Runs a command to its end. The program is looked up in the environment's PATH, `input` is its
// whole stdin, it gets a process group of its own and is killed with it after `timeout`. Blocks;
// any thread may call it. Error: not found, time-out, too much output.
Result<Finished> run(const std::vector<std::string>& argv, const Environment& environment,
                     std::chrono::milliseconds timeout, std::string_view input = {});

// What a command wrote to stdout. Error as above, and where its code is not 0, with the first line
// of stderr as the reason.
Result<std::string> output_of(const std::vector<std::string>& argv, const Environment& environment,
                              std::chrono::milliseconds timeout);

}  // namespace toprun::process
