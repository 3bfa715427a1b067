#pragma once

#include <string>

namespace toprun::cli {

inline constexpr int help_columns = 100;

// What -h, --help and --version print: whole lines of at most help_columns columns. Called torchrun
// the texts know only torchrun's options.
std::string short_help(bool called_torchrun);
std::string full_help(bool called_torchrun);
std::string version_text();

}  // namespace toprun::cli
