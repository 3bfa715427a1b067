#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

// Reads JSON from files and programs. A value that is missing or has another type counts as empty.
namespace toprun {

// Null if `object` has no such member or is not an object.
const nlohmann::json& member(const nlohmann::json& object, std::string_view key);
// "" if the member is not a string.
std::string text_at(const nlohmann::json& object, std::string_view key);

}  // namespace toprun
