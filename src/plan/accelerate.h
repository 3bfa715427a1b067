#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/environment.h"
#include "base/error.h"

namespace toprun::plan {

// Importing accelerate means importing torch, from a file server perhaps.
inline constexpr std::chrono::seconds accelerate_limit{120};

struct AccelerateSettings {
  Environment variables;
  std::optional<int> processes;  // of all nodes, for which the file was made; unset: any number
};

struct World {
  int nnodes = 1;
  int nproc = 1;  // on each node
};

// The variables by which `accelerate launch --config_file FILE` tells its settings to the ranks, as
// the accelerate of this Python has it: its own launcher is asked, and starts nothing. Errors name
// `host`: no such file, no accelerate in that Python, what accelerate said.
Result<AccelerateSettings> accelerate_settings(const std::string& file, const std::string& python,
                                               World world, const Environment& environment,
                                               const std::string& host);

// Where accelerate's launcher looks if it is not told of a file (accelerate.commands.config).
std::filesystem::path accelerate_default_config(const Environment& environment);

// Whether the launcher's settings are there, whoever put them there.
bool has_accelerate_settings(const Environment& environment);

// Whether a line of this Python text imports the package `accelerate`.
bool imports_accelerate(std::string_view script);

}  // namespace toprun::plan
