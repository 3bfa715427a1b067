#pragma once

#include <string>
#include <vector>

namespace toprun::engines {

// The script and its arguments as they stand behind the options of `toprun run`: after a `--`, if
// they would have another meaning without it.
std::vector<std::string> after_options(const std::vector<std::string>& program);

}  // namespace toprun::engines
