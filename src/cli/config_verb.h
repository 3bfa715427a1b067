#pragma once

#include <string>
#include <vector>

#include "base/environment.h"

namespace toprun::cli {

// `toprun config show|init`.
int run_config(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace toprun::cli
