#pragma once

#include <string>
#include <string_view>

namespace toprun::cli {

// What makes a shell (bash, zsh, fish or tcsh) complete the verbs and options of toprun, or
// torchrun's options only, and then files: a script for `eval`, or for the folder in which the
// shell looks for such.
std::string completion(std::string_view shell, bool called_torchrun);

}  // namespace toprun::cli
