#pragma once

#include <string>
#include <string_view>

namespace toprun::cli {

// What makes a shell (bash, zsh or tcsh) complete the options of toprun, or of torchrun only, and
// then files: a script for `eval`, or for the folder in which the shell looks for such.
std::string completion(std::string_view shell, bool called_torchrun);

}  // namespace toprun::cli
