#pragma once

#include <string>
#include <vector>

#include "base/environment.h"

namespace toprun::cli {

// `toprun setup`: builds an environment as a job, or here.
int run_setup(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace toprun::cli
