#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text/error.h"

namespace toprun::engines::kubernetes {

// What `kubectl get … -o json` prints, read so that what is missing or of another type is nothing.

// Error: it is not a JSON object, with its beginning.
Result<nlohmann::json> parse_object(std::string_view text);

// The items of a list, or the object alone.
std::vector<const nlohmann::json*> items_of(const nlohmann::json& value);

// null if it is not there.
const nlohmann::json& at(const nlohmann::json& value, std::initializer_list<std::string_view> path);
// "" if it is not a string.
std::string text_at(const nlohmann::json& value, std::initializer_list<std::string_view> path);
// 0 if it is not a whole number.
std::int64_t number_at(const nlohmann::json& value, std::initializer_list<std::string_view> path);

}  // namespace toprun::engines::kubernetes
