#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/os/environment.h"

namespace toprun::process {

// The search path if PATH is unset or empty.
inline constexpr std::string_view default_path = "/usr/local/bin:/usr/bin:/bin";
std::string search_path(const Environment& environment);

using IsExecutable = std::function<bool(const std::string& path)>;
bool is_executable_file(const std::string& path);  // a folder is none

// The file that runs as `name`: `name` itself if it contains a slash, else the first executable
// file of that name in the environment's PATH, where an empty entry means the current folder. All
// code searches by this function, so that the program that is checked is the one that runs.
std::optional<std::string> find_program(const std::string& name, const Environment& environment,
                                        const IsExecutable& is_executable = is_executable_file);

}  // namespace toprun::process
