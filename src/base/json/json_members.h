#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

// JSON from files and programs, read so that what is missing or of another type is nothing.
namespace toprun {

// Null if it is not there, or `object` is none.
const nlohmann::json& member(const nlohmann::json& object, std::string_view key);
// "" if it is not a string.
std::string text_at(const nlohmann::json& object, std::string_view key);

}  // namespace toprun
