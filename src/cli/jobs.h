#pragma once

#include <string>
#include <vector>

#include "base/environment.h"

namespace toprun::cli {

// `toprun jobs`: what waits and runs in the engine's queue, the caller's own unless --all is given.
int run_jobs(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace toprun::cli
