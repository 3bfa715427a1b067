#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/call.h"

namespace toprun::cli {

// The completion script for a shell (bash, zsh, fish or tcsh), for `eval` or for the shell's folder
// of completion scripts. At each Tab the script queries toprun for candidates. tcsh's script
// completes only names of options and their fixed values. `program`: toprun's path, if the
// command's name (torchrun) could also mean another program.
std::string completion(std::string_view shell, bool called_torchrun, std::string_view program);

// `toprun completion SHELL`. The scripts' queries use `completion --words [WORD...]`
// (`--torchrun-words`).
Result<int> run_completion(const options::Call& call);
// Answers a query of toprun's completion scripts; nullopt if a user made the call.
std::optional<int> answer_shell(const std::vector<std::string>& arguments);

}  // namespace toprun::cli
