#pragma once

#include <string>
#include <vector>

namespace toprun::setup {

// The errors in the output of pip (or venv), on one line. The text includes the errors'
// continuation lines, and the reason if a connection failed. Empty if no line looks like an error.
// Supports pip 22 to 26.
std::string pips_words(const std::vector<std::string>& lines);

}  // namespace toprun::setup
