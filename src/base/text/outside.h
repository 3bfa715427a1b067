#pragma once

#include <fmt/format.h>

#include <compare>
#include <concepts>
#include <string>
#include <string_view>
#include <utility>

#include "base/text/text.h"

namespace toprun {

// A text from another host, user or program. An Outside can be inserted into toprun's own texts
// only by fmt::format(). The formatter calls printable(), so the inserted text is one line without
// terminal sequences.
class Outside {
 public:
  Outside() = default;
  template <std::convertible_to<std::string> Text>
  Outside(Text&& text) : text_(std::forward<Text>(text)) {}
  Outside(std::string_view text) : text_(text) {}

  bool empty() const { return text_.empty(); }
  void clear() { text_.clear(); }
  std::string shown() const { return printable(text_); }
  // Returns the original text, for programs (JSON), for comparisons and for paths. Never print this
  // text on a terminal.
  const std::string& raw() const { return text_; }

  friend bool operator==(const Outside& a, const Outside& b) = default;
  friend std::strong_ordering operator<=>(const Outside& a, const Outside& b) = default;
  template <class Json>
  friend void to_json(Json& json, const Outside& text) {
    json = text.text_;
  }

 private:
  std::string text_;
};

}  // namespace toprun

template <>
struct fmt::formatter<toprun::Outside> : fmt::formatter<std::string_view> {
  auto format(const toprun::Outside& text, fmt::format_context& context) const {
    return fmt::formatter<std::string_view>::format(text.shown(), context);
  }
};
