#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/options/command_text.h"
#include "cli/options/flags.h"

namespace toprun::cli {

// The output of -h, --help and --version for a command: complete lines of at most help_columns
// columns.
std::string short_help(options::Command command);
std::string full_help(options::Command command);
std::string version_text();

inline constexpr std::string_view exit_codes_title = "Exit codes";
std::vector<options::CommandText::Row> exit_code_rows(options::Command command);

// The whole description of the command.
options::CommandText command_text(options::Command command);

}  // namespace toprun::cli
