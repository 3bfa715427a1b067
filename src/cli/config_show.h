#pragma once

#include <string>
#include <vector>

#include "base/environment.h"

namespace toprun::cli {

// `toprun config show`: what a verb would take from files and variables, and from where.
int run_config_show(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace toprun::cli
