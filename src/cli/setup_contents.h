#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/setup_options.h"

namespace toprun::cli {

// What an environment or image is to be made of, word by word, as its record keeps it: packages,
// lines of requirement files, "--modules=cuda/12.4" and whatever else changes what is built. Reads
// the files. Error: one cannot be read.
Result<std::vector<std::string>> contents_asked(const SetupOptions& options);

// The lines of a requirement file that say something, without comments. Pure.
std::vector<std::string> requirement_lines(std::string_view text);

}  // namespace toprun::cli
