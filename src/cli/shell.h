#pragma once

#include <string>
#include <vector>

#include "base/environment.h"

namespace toprun::cli {

// `toprun shell`: an interactive allocation, or with --attach a shell in a job that runs. Returns
// the shell's exit code.
int run_shell(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace toprun::cli
