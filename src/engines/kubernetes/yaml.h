#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace toprun::engines::kubernetes {

// The value as readable YAML in block style, with a newline at the end. Parsers for YAML 1.1 (as
// kubectl's library) and 1.2 read the same value. Therefore a string is quoted unless it starts
// with a letter and both versions read it as a string. Pure function.
std::string yaml(const nlohmann::ordered_json& value);

}  // namespace toprun::engines::kubernetes
