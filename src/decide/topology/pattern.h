#pragma once

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "base/text/error.h"

namespace toprun::topology {

inline constexpr std::size_t max_pattern_bytes = 4u << 10;
inline constexpr std::uint32_t max_pattern_steps = 100'000;  // per name

std::string pcre2_message(int code);  // PCRE2's message for its error code

// A regular expression (PCRE2 syntax) for searches in names.
class Pattern {
 public:
  // Compiles the expression. The error string says what is wrong with the expression. If PCRE2
  // found it, the string begins with "column N: ". N counts the `before` columns in front of the
  // expression too.
  static std::expected<Pattern, std::string> compile(std::string_view text, std::size_t before = 0);

  // Searches the name. Returns PCRE2's result. Negative: there is no match, or the search needs
  // more than max_pattern_steps. After a match, data() has the bounds of the expression's groups.
  int match(std::string_view name) const;
  bool finds(std::string_view name) const { return match(name) >= 0; }

  pcre2_code* code() const { return parts_->code; }
  pcre2_match_data* data() const { return parts_->data; }

 private:
  struct Parts {
    ~Parts();
    pcre2_code* code = nullptr;
    pcre2_match_data* data = nullptr;
    pcre2_match_context* limits = nullptr;
  };
  std::shared_ptr<const Parts> parts_;
};

}  // namespace toprun::topology
