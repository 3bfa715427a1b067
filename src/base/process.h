#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/error.h"

namespace toprun {

inline constexpr std::size_t max_output_bytes = 64u << 20;

// Where the environment's PATH has this program.
std::optional<std::string> find_program(const std::string& name, const Environment& environment);

// What a command wrote to stdout. The program is looked up in the environment's PATH, stdin is
// /dev/null, the command gets a process group of its own and is killed with it after `timeout`.
// Blocks; reaps only the process it started. Error: not found, time-out, too much output, or a
// status other than 0, with the first line of stderr as the reason.
Result<std::string> output_of(const std::vector<std::string>& argv, const Environment& environment,
                              std::chrono::milliseconds timeout);

}  // namespace toprun
