#pragma once

#include <string>
#include <vector>

#include "base/environment.h"

namespace toprun::cli {

// `toprun grow JOB`: an elastic job takes in the nodes that wait.
int run_grow(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace toprun::cli
