#pragma once

#include <string>
#include <vector>

#include "base/os/environment.h"

namespace toprun::cli {

// `toprun [run]`: returns the exit code of the whole.
int run(const std::vector<std::string>& argv, const Environment& environment);

// For run_options() and submit_options(): also a pipe or a device, but no folder.
bool is_file(const std::string& path);

}  // namespace toprun::cli
