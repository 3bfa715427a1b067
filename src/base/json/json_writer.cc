#include "base/json/json_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"

namespace toprun {

JsonWriter& JsonWriter::text(std::string_view text) {
  constexpr auto plain = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
  if (std::ranges::all_of(text, plain)) {
    out_ += '"';
    out_ += text;
    out_ += '"';
  } else {
    out_ += json_text(nlohmann::json(text));
  }
  return *this;
}

JsonWriter& JsonWriter::number(std::size_t value) {
  out_ += fmt::format_int(value).c_str();
  return *this;
}

}  // namespace toprun
