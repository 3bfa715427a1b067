#pragma once

#include <string>
#include <vector>

#include "base/environment.h"

namespace toprun::cli {

// `toprun config init`: a toprun.toml to begin with, made of what the engine says of itself.
int run_config_init(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace toprun::cli
