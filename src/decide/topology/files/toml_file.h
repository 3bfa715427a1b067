#pragma once

#include <string>
#include <string_view>

#include "decide/topology/tree.h"

namespace toprun::topology {

inline constexpr std::string_view toml_advice = "see https://toml.io";  // for syntax errors
// Parses a topology in TOML, in the form of plain_file.h. Errors (file:line:column): a TOML syntax
// error, and the errors of map_of_plain().
Result<Map> parse_toml_file(std::string_view text, const std::string& file);

}  // namespace toprun::topology
