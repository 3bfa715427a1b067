#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/text/error.h"

namespace toprun::engines::kubernetes {

inline constexpr std::size_t most_yaml_bytes = 1u << 20;
inline constexpr std::size_t most_yaml_values = 100'000;  // counted after aliases are expanded
inline constexpr int deepest_yaml = 64;

// Parses a text with one YAML document (JSON is valid YAML). The parser follows kubectl's library
// and the types of YAML 1.1: unquoted yes, on and 0x1f are not strings. Pure function. Errors (exit
// 2) with file:line:column: invalid YAML, a repeated key, two documents, or a value that exceeds a
// limit above.
Result<nlohmann::ordered_json> parse_yaml_value(std::string_view text, const std::string& file);

// Returns the value as readable YAML in block style, with a newline at the end. Parsers for YAML
// 1.1 (such as kubectl's library) and 1.2 read the same value from this text. For this, every
// string is quoted, except those that start with a letter and that both versions read as a string.
// Pure function.
std::string yaml(const nlohmann::ordered_json& value);

}  // namespace toprun::engines::kubernetes
