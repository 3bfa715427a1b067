#pragma once

#include <string>
#include <vector>

#include "base/os/environment.h"

namespace toprun::cli {

// `toprun [run]`: runs the launch and returns its exit code.
int run(const std::vector<std::string>& argv, const Environment& environment);

// For run_options() and submit_options(). True also for a pipe or a device, but false for a folder.
bool is_file(const std::string& path);

// Executes the command line, a verb or a launch, and returns the exit code.
int act(std::vector<std::string> argv, const Environment& environment);

}  // namespace toprun::cli
