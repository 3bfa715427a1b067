#pragma once

#include <vector>

#include "cli/options/command_text.h"

namespace toprun::cli {

// What the manual page says of the environment and of files: a name and its meaning.

// The options' variables by the table of options, and those that no option has.
std::vector<options::CommandText::Row> environment_rows();
std::vector<options::CommandText::Row> file_rows();

}  // namespace toprun::cli
