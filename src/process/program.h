#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/environment.h"

namespace toprun::process {

// Where programs are looked for by an environment whose PATH is absent or empty.
inline constexpr std::string_view default_path = "/usr/local/bin:/usr/bin:/bin";
std::string search_path(const Environment& environment);

using IsExecutable = std::function<bool(const std::string& path)>;
bool is_executable_file(const std::string& path);  // a folder is none

// The file that runs as `name`: itself if it has a slash, else the first executable file of that
// name in the environment's PATH, an empty part of which is the current folder. Every search for a
// program is this one, so that what is checked is what is run.
std::optional<std::string> find_program(const std::string& name, const Environment& environment,
                                        const IsExecutable& is_executable = is_executable_file);

}  // namespace toprun::process
