#pragma once

#include <string>
#include <vector>

namespace toprun::setup {

// What the lines that pip (or venv) wrote complain of, in its own words on one line: its errors
// with what belongs to them, and if there is one why it had no connection. Empty: nothing that
// looks like a complaint. Forms: pip 22 to 26.
std::string pips_words(const std::vector<std::string>& lines);

}  // namespace toprun::setup
