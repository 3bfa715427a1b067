#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

// Wraps the library's parser and writer, so that these are compiled only once. Each room that calls
// them directly compiles 45 KB more of templates.
namespace toprun {

inline constexpr int on_one_line = -1;  // an indent

// A discarded value if `text` is not JSON.
nlohmann::json json_in(std::string_view text);

// Never throws: bytes that are not UTF-8 become U+FFFD.
std::string json_text(const nlohmann::json& value, int indent = on_one_line);
std::string json_text(const nlohmann::ordered_json& value, int indent = on_one_line);

}  // namespace toprun
