#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

// The library's parser and writer, compiled once: each room that calls them by itself has 45 KB of
// templates more to compile.
namespace toprun {

inline constexpr int on_one_line = -1;  // an indent

// A discarded value if the text is not JSON.
nlohmann::json json_in(std::string_view text);

// Never throws: what is not UTF-8 becomes U+FFFD.
std::string json_text(const nlohmann::json& value, int indent = on_one_line);
std::string json_text(const nlohmann::ordered_json& value, int indent = on_one_line);

}  // namespace toprun
