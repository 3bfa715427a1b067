#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "options/call.h"

namespace toprun::cli {

// What makes a shell (bash, zsh, fish or tcsh) complete the command: a script for `eval`, or for
// the folder in which the shell looks for such. It asks toprun at each Tab what may follow; tcsh's
// knows only names. `program`: toprun's path, where the command's name (torchrun) does not tell
// whether the one in PATH is ours.
std::string completion(std::string_view shell, bool called_torchrun, std::string_view program);

// The verb: `completion SHELL`, and `completion --words [WORD...]` (`--torchrun-words`), by which
// the scripts ask.
Result<int> run_completion(const options::Call& call);
// What toprun's own scripts ask in place of a user. nullopt: it is a user who speaks.
std::optional<int> answer_shell(const std::vector<std::string>& arguments);

}  // namespace toprun::cli
