#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::plan {

// Time limit for accelerate's launcher. The limit is long, because importing accelerate also
// imports torch, perhaps from a file server.
inline constexpr std::chrono::seconds accelerate_limit{120};

// What accelerate_settings() returns.
struct AccelerateSettings {
  Environment variables;
  std::optional<int> processes;  // number of processes on all nodes together, from accelerate's
                                 // configuration file; unset: any number
};

struct World {
  int nnodes = 1;
  int nproc = 1;  // on each node
};

// Returns the variables in which `accelerate launch --config_file FILE` passes its settings to the
// ranks. To get these variables, runs accelerate's launcher, with the Python `python`, without
// starting ranks. Errors name `host`: `file` does not exist, this Python has no accelerate, or
// accelerate itself reports an error.
Result<AccelerateSettings> accelerate_settings(const std::string& file, const std::string& python,
                                               World world, const Environment& environment,
                                               const std::string& host);

// Returns the path of accelerate's default configuration file (accelerate.commands.config).
std::filesystem::path accelerate_default_config(const Environment& environment);

// Whether `environment` already contains the variables that accelerate's launcher sets for ranks.
bool has_accelerate_settings(const Environment& environment);

// Whether a line of this Python text imports the package `accelerate`.
bool imports_accelerate(std::string_view script);

}  // namespace toprun::plan
