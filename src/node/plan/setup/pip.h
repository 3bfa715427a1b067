#pragma once

#include <string>
#include <vector>

namespace toprun::setup {

// If pip found nothing because it could not connect to a package index: "no connection to pypi.org:
// Temporary failure in name resolution". Empty: another error. Supports pip 22 to 26.
std::string missing_connection(const std::vector<std::string>& lines);

// The errors in the output of pip (or venv), on one line. The text includes the errors'
// continuation lines. Empty if no line looks like an error. Supports pip 22 to 26.
std::string pips_words(const std::vector<std::string>& lines);

}  // namespace toprun::setup
