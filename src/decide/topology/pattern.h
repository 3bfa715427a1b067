#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/text/error.h"

namespace toprun::topology {

inline constexpr std::size_t max_pattern_bytes = 4u << 10;
inline constexpr std::uint32_t max_pattern_steps = 100'000;  // per name

const unsigned char* pcre2_units(std::string_view text);  // the text in PCRE2's type
std::string pcre2_message(int code);                      // PCRE2's message for its error code

// A regular expression (PCRE2 syntax) for searches in names.
class Pattern {
 public:
  // Compiles the expression. Error: what is wrong with the expression, without its position.
  static std::expected<Pattern, std::string> compile(std::string_view text);

  // Whether the name contains a match. If the search needs more than max_pattern_steps, there is no
  // match.
  bool finds(std::string_view name) const;

 private:
  struct Parts;
  std::shared_ptr<const Parts> parts_;
};

}  // namespace toprun::topology
