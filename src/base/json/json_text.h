#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

// Wraps nlohmann's parser and writer, so that they are compiled only once. A folder of src/ that
// calls nlohmann's parser or writer directly becomes 45 KB larger, because it compiles nlohmann's
// templates again.
namespace toprun {

inline constexpr int on_one_line = -1;  // a value for `indent`

// Returns a discarded value if `text` is not JSON.
nlohmann::json json_in(std::string_view text);

// Never throws: bytes that are not UTF-8 become U+FFFD.
std::string json_text(const nlohmann::json& value, int indent = on_one_line);
std::string json_text(const nlohmann::ordered_json& value, int indent = on_one_line);

}  // namespace toprun
