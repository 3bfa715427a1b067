#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace toprun::engines::kubernetes {

// The value as YAML for people, block style, ended by a newline. Whatever reads it, YAML 1.1 (as
// kubectl's library) or 1.2, gets the same value back: a string is quoted unless it begins with a
// letter and no version takes it for anything else. Pure.
std::string yaml(const nlohmann::ordered_json& value);

}  // namespace toprun::engines::kubernetes
