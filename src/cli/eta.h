#pragma once

#include <string>
#include <vector>

#include "base/environment.h"

namespace toprun::cli {

// `toprun eta [ID]`: when waiting jobs are expected to start, and what keeps them waiting.
int run_eta(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace toprun::cli
