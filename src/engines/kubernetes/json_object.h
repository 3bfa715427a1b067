#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text/error.h"

namespace toprun::engines::kubernetes {

// Readers for `kubectl get … -o json` output. A value that is missing or of another type is
// returned as an empty value.

// Parses a JSON object. Error: the text is not a JSON object; the message shows its beginning.
Result<nlohmann::json> parse_object(std::string_view text);

// Returns the items of a list, or the object itself if it is not a list.
std::vector<const nlohmann::json*> items_of(const nlohmann::json& value);

// Returns the value at this path; null if it is missing.
const nlohmann::json& at(const nlohmann::json& value, std::initializer_list<std::string_view> path);
// Returns the string at this path; "" if the value is not a string.
std::string text_at(const nlohmann::json& value, std::initializer_list<std::string_view> path);
// Returns the number at this path; 0 if the value is not a whole number.
std::int64_t number_at(const nlohmann::json& value, std::initializer_list<std::string_view> path);

}  // namespace toprun::engines::kubernetes
