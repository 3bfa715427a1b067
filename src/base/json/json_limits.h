#pragma once

#include <cstddef>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace toprun {

// Limits for a JSON text, checked before any value is built. A value takes 16 bytes of memory. A
// list or object takes about 70 bytes, although its text may be only two bytes long, as in "[]".
// json_in(text) uses the defaults.
struct JsonLimits {
  static constexpr std::size_t any = std::size_t{1} << 40;

  int depth = 256;
  // The limit for the number of lists and objects. The limit rises by one for each 32 bytes of
  // text.
  std::size_t lists = std::size_t{1} << 18;
  // The limit for the number of values. The limit rises by one for each 16 bytes of text.
  std::size_t values = any;
};

// Like json_in(text) in base/json/json_text.h. If the text exceeds the limits, the result is a
// discarded value too.
nlohmann::json json_in(std::string_view text, const JsonLimits& limits);

}  // namespace toprun
