#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

// Reads JSON from files and programs. A value that is missing or has another type counts as empty.
namespace toprun {

// Null if `object` has no such member or is not an object.
const nlohmann::json& member(const nlohmann::json& object, std::string_view key);
// "" if the member is not a string.
std::string text_at(const nlohmann::json& object, std::string_view key);
// The strings of a list.
std::vector<std::string> texts_at(const nlohmann::json& object, std::string_view key);
// A whole number from 0 to `most`.
std::optional<std::int64_t> number_at(const nlohmann::json& object, std::string_view key,
                                      std::int64_t most);
// A whole number from 0 to a hundred million, so that a sum of two of them is an int too.
std::optional<int> int_at(const nlohmann::json& object, std::string_view key);

}  // namespace toprun
