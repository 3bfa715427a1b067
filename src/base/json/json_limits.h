#pragma once

#include <cstddef>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace toprun {

// Limits for a JSON text, checked before any value is built. A value takes 16 bytes of memory; a
// list or object takes some 70, but may have only two letters in the text. json_in(text) uses the
// defaults.
struct JsonLimits {
  static constexpr std::size_t any = std::size_t{1} << 40;

  int depth = 256;
  std::size_t lists = std::size_t{1} << 18;  // lists and objects; plus one for each 32 bytes of
                                             // text
  std::size_t values = any;                  // plus one for each 16 bytes of text
};

// Like json_in(text) in base/json/json_text.h. The result is also discarded if the text exceeds the
// limits.
nlohmann::json json_in(std::string_view text, const JsonLimits& limits);

}  // namespace toprun
