#pragma once

#include "base/environment.h"
#include "cli/split.h"

namespace toprun::cli {

// `toprun [run]`: returns the exit code of the whole.
int run(const Split& split, const std::vector<std::string>& argv, const Environment& environment);

}  // namespace toprun::cli
