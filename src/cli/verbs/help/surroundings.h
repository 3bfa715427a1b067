#pragma once

#include <vector>

#include "cli/options/command_text.h"

namespace toprun::cli {

// Rows of the manual page about environment variables and files: a name and its meaning.

// The variables of options, from the table of options, and all other variables.
std::vector<options::CommandText::Row> environment_rows();
std::vector<options::CommandText::Row> file_rows();

}  // namespace toprun::cli
