#pragma once

#include <string>
#include <vector>

#include "base/environment.h"
#include "base/error.h"
#include "launch/activation.h"

namespace toprun::cli {

// In the environment of a toprun on a job's node, which is to become this shell.
inline constexpr const char* entered_shell_variable = "TOPRUN_SHELL";

// What starts the shell on a job's node: the shell itself, or toprun, which makes the environment
// there and becomes the shell. Error: toprun's own path is not known.
Result<std::vector<std::string>> entry_command(const std::string& shell,
                                               const launch::Activation& activation);

// On the node: becomes the shell. Returns only an error, the environment's or exec's.
Error enter_shell(const std::string& shell, const launch::Activation& activation,
                  const Environment& environment);

}  // namespace toprun::cli
