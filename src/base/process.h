#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/error.h"

namespace toprun {

inline constexpr std::size_t max_output_bytes = 64u << 20;

// Where the environment's PATH has this program.
std::optional<std::string> find_program(const std::string& name, const Environment& environment);

// argv or envp as exec and posix_spawn take it: a pointer to each of the words, which must stay, and
// a null.
std::vector<char*> exec_pointers(const std::vector<std::string>& words);

// How a command ended and what it wrote.
struct Finished {
  int code = 0;  // 128+n: signal n ended it
  std::string out;
  std::string err;
};

// Runs a command to its end. The program is looked up in the environment's PATH, `input` is its
// whole stdin, it gets a process group of its own and is killed with it after `timeout`. Blocks;
// reaps only the process it started. Error: not found, time-out, too much output.
Result<Finished> finish(const std::vector<std::string>& argv, const Environment& environment,
                        std::chrono::milliseconds timeout, std::string_view input = {});

// What a command wrote to stdout. Error as above, and where its code is not 0, with the first line
// of stderr as the reason.
Result<std::string> output_of(const std::vector<std::string>& argv, const Environment& environment,
                              std::chrono::milliseconds timeout);

}  // namespace toprun
