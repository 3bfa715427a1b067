#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/call.h"

namespace toprun::cli {

// The completion script for a shell (bash, zsh, fish or tcsh), for `eval` or for the shell's folder
// of such scripts. At each Tab it asks toprun for candidates; tcsh's script knows only names.
// `program`: toprun's path, if the command's name (torchrun) could also mean another program.
std::string completion(std::string_view shell, bool called_torchrun, std::string_view program);

// The verb: `completion SHELL`, and `completion --words [WORD...]` (`--torchrun-words`) for the
// scripts' queries.
Result<int> run_completion(const options::Call& call);
// Answers the queries of toprun's completion scripts. nullopt: it is a user's call.
std::optional<int> answer_shell(const std::vector<std::string>& arguments);

}  // namespace toprun::cli
