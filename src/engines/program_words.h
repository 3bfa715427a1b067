#pragma once

#include <string>
#include <vector>

namespace toprun::engines {

// The script and its arguments as they follow the options of `toprun run`. A `--` comes first if
// they would otherwise be misread as options.
std::vector<std::string> after_options(const std::vector<std::string>& program);

}  // namespace toprun::engines
