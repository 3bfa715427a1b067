#pragma once

#include <string>

#include "cli/command_text.h"
#include "cli/flags.h"

namespace toprun::cli {

// What -h, --help and --version print: whole lines of at most help_columns columns, about the
// options that the dialect knows.
std::string short_help(Dialect dialect);
std::string full_help(Dialect dialect);
std::string version_text();

// All that there is to tell of the command.
CommandText command_text(Dialect dialect);

}  // namespace toprun::cli
