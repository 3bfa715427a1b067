#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace toprun {

// Writes JSON as text. A JsonWriter builds no document tree, because for 10,000 nodes that would
// take longer than ordering the nodes. The caller is responsible for brackets and commas.
class JsonWriter {
 public:
  // Writes a string. Bytes that are not UTF-8 become U+FFFD, because names in files may contain any
  // bytes.
  JsonWriter& text(std::string_view text);
  JsonWriter& optional(const std::optional<std::string>& value) {
    return value ? text(*value) : raw("null");
  }
  JsonWriter& number(std::size_t value);
  JsonWriter& raw(std::string_view json) {
    out_ += json;
    return *this;
  }
  // `write` writes one element.
  template <class Range, class Write>
  JsonWriter& list(const Range& range, Write write, std::string_view separator = ", ") {
    out_ += '[';
    bool first = true;
    for (const auto& element : range) {
      if (!std::exchange(first, false)) out_ += separator;
      write(element);
    }
    out_ += ']';
    return *this;
  }
  JsonWriter& texts(const std::vector<std::string>& range) {
    return list(range, [this](const std::string& element) { text(element); });
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

}  // namespace toprun
