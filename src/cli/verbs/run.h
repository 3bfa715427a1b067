#pragma once

#include <string>
#include <vector>

#include "base/os/environment.h"

namespace toprun::cli {

// `toprun [run]`: returns the exit code of the whole.
int run(const std::vector<std::string>& argv, const Environment& environment);

// For run_options() and submit_options(): also a pipe or a device, but no folder.
bool is_file(const std::string& path);

// Does what the command line asks for, a verb or a launch, and returns the exit code.
int act(std::vector<std::string> argv, const Environment& environment);

}  // namespace toprun::cli
