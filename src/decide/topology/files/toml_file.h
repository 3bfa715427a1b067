#pragma once

#include <string>
#include <string_view>

#include "decide/topology/tree.h"

namespace toprun::topology {

// A topology in TOML, in the form of plain_file.h. Errors (file:line:column): a TOML syntax error,
// and the errors of map_of_plain().
inline constexpr std::string_view toml_advice = "see https://toml.io";  // of errors in the syntax
Result<Map> parse_toml_file(std::string_view text, const std::string& file);

}  // namespace toprun::topology
