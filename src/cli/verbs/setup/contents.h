#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/verbs/setup/options.h"

namespace toprun::cli {

// The requested contents of an environment or image, in the form in which its record stores them.
// The contents are a list of words: packages, lines of requirement files, "--modules=cuda/12.4" and
// everything else that changes the result. Reads the requirement files. Error: a file cannot be
// read.
Result<std::vector<std::string>> contents_asked(const SetupOptions& options);

// The lines of a requirement file without comments and empty lines. Pure.
std::vector<std::string> requirement_lines(std::string_view text);

}  // namespace toprun::cli
