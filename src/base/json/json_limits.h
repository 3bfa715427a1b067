#pragma once

#include <cstddef>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace toprun {

// What a text of JSON may hold, counted before anything of it is built: a value takes 16 bytes, a
// list or object, which is two letters in the text, some 70. Those of json_in(text) are the usual.
struct JsonLimits {
  static constexpr std::size_t any = std::size_t{1} << 40;

  int depth = 256;
  std::size_t lists = std::size_t{1} << 18;  // and objects; and one more for each 32 bytes
  std::size_t values = any;                  // and one more for each 16 bytes
};

// As json_in(text) of base/json/json_text.h: discarded, too, if it is beyond the limits.
nlohmann::json json_in(std::string_view text, const JsonLimits& limits);

}  // namespace toprun
