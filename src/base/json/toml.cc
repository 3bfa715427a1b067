#define TOML_IMPLEMENTATION
#include "base/json/toml.h"

#include <algorithm>

namespace toprun {
namespace {

bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

// Behind the text in quotes that begins at `i`; one on a single line ends with it.
std::size_t behind_quotes(std::string_view text, std::size_t i) {
  const char quote = text[i];
  const std::string three(3, quote);
  const bool is_long = text.substr(i).starts_with(three);
  if (is_long) {
    const std::size_t end = text.find(three, i + 3);
    return end == text.npos ? text.size() : end + 3;
  }
  for (++i; i < text.size() && text[i] != quote && text[i] != '\n'; ++i) {
    if (quote == '"' && text[i] == '\\') ++i;
  }
  return std::min(i + 1, text.size());
}

// Where a key has too many parts; npos: none has.
std::size_t too_long_key(std::string_view text) {
  int parts = 0;
  bool after_dot = false;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const std::size_t before = i;
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
    } else if (c == '"' || c == '\'') {
      i = behind_quotes(text, i);
    } else {
      while (i < text.size() && is_bare(text[i])) ++i;
    }
    const bool is_part = c != '#' && i > before;
    if (is_part) {
      parts = after_dot ? parts + 1 : 1;
      after_dot = false;
      if (parts > most_key_parts) return before;
      continue;
    }
    if (i == before) ++i;
    if (c == ' ' || c == '\t') continue;
    after_dot = c == '.' && parts > 0 && !after_dot;
    if (!after_dot) parts = 0;
  }
  return text.npos;
}

}  // namespace

toml::table parse_toml(std::string_view text, std::string_view label) {
  const std::size_t at = too_long_key(text);
  if (at == text.npos) return toml::parse(text, label);
  const std::string_view before = text.substr(0, at);
  const auto line = static_cast<toml::source_index>(1 + std::ranges::count(before, '\n'));
  const auto column = static_cast<toml::source_index>(at - (before.rfind('\n') + 1) + 1);
  throw toml::parse_error("a key has more than 256 parts", toml::source_position{line, column});
}

}  // namespace toprun
