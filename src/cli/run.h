#pragma once

#include <string>
#include <vector>

#include "base/environment.h"

namespace toprun::cli {

// `toprun [run]`: returns the exit code of the whole.
int run(const std::vector<std::string>& argv, const Environment& environment);

}  // namespace toprun::cli
