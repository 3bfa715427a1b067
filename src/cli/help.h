#pragma once

#include <string>

#include "options/command_text.h"
#include "options/flags.h"

namespace toprun::cli {

// What -h, --help and --version print: whole lines of at most help_columns columns, about the
// options that the command knows.
std::string short_help(options::Command command);
std::string full_help(options::Command command);
std::string version_text();

// All that there is to tell of the command.
options::CommandText command_text(options::Command command);

}  // namespace toprun::cli
