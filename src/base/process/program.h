#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::process {

// The search path if PATH is unset or empty.
inline constexpr std::string_view default_path = "/usr/local/bin:/usr/bin:/bin";
std::string search_path(const Environment& environment);

using IsExecutable = std::function<bool(const std::string& path)>;
bool is_executable_file(const std::string& path);  // false for a folder

// The file that would run as `name`: `name` itself if it contains a slash, else the first
// executable file with that name in the environment's PATH. An empty entry in PATH is the current
// folder. All code uses this function, so the program that is checked is the one that runs.
std::optional<std::string> find_program(const std::string& name, const Environment& environment,
                                        const IsExecutable& is_executable = is_executable_file);

// The kind of this machine, as `uname -m` prints it: "x86_64".
std::string this_machine();

// The path that starts the program of this process again.
inline constexpr const char* own_program = "/proc/self/exe";
// The file to which own_program leads. Error: /proc is not mounted.
Result<std::filesystem::path> own_path();

}  // namespace toprun::process
