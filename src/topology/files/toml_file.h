#pragma once

#include <string>
#include <string_view>

#include "topology/tree.h"

namespace toprun::topology {

// A topology in TOML, as plain_file.h has it. Error (file:line:column): TOML's own syntax, and what
// map_of_plain() refuses.
Result<Map> parse_toml_file(std::string_view text, const std::string& file);

}  // namespace toprun::topology
