#pragma once

#include <string>

#include "cli/flags.h"

namespace toprun::cli {

inline constexpr int help_columns = 100;

// What -h, --help and --version print: whole lines of at most help_columns columns, about the
// options that the dialect knows.
std::string short_help(Dialect dialect);
std::string full_help(Dialect dialect);
std::string version_text();

}  // namespace toprun::cli
