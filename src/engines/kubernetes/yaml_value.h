#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/text/error.h"

namespace toprun::engines::kubernetes {

inline constexpr std::size_t most_yaml_bytes = 1u << 20;
inline constexpr std::size_t most_yaml_values = 100'000;  // aliases expanded
inline constexpr int deepest_yaml = 64;

// The one document of a text in YAML, or in JSON, which is YAML: as kubectl's library reads it, by
// the types of YAML 1.1 (yes, on and 0x1f are not strings unless they are quoted). Pure. Errors
// (exit 2) with file:line:column: no YAML, a key twice, two documents, one of the bounds above.
Result<nlohmann::ordered_json> parse_yaml_value(std::string_view text, const std::string& file);

}  // namespace toprun::engines::kubernetes
