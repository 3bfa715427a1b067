#define TOML_IMPLEMENTATION
#include "base/json/toml.h"

#include <algorithm>
#include <optional>

namespace toprun {
namespace {

bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

struct Quoted {
  std::size_t end = 0;  // behind the closing quote, or where the string should have ended
  bool is_closed = false;
};

// The string in quotes that begins at `i`. A string with single quotes ends at the end of the line.
Quoted quoted_at(std::string_view text, std::size_t i) {
  const char quote = text[i];
  const std::string three(3, quote);
  const bool is_long = text.substr(i).starts_with(three);
  if (is_long) {
    const std::size_t end = text.find(three, i + 3);
    return end == text.npos ? Quoted{text.size(), false} : Quoted{end + 3, true};
  }
  for (++i; i < text.size() && text[i] != quote && text[i] != '\n'; ++i) {
    if (quote == '"' && text[i] == '\\') ++i;
  }
  const bool is_closed = i < text.size() && text[i] == quote;
  return {std::min(i + 1, text.size()), is_closed};
}

toml::source_position position_of(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  return {static_cast<toml::source_index>(1 + std::ranges::count(before, '\n')),
          static_cast<toml::source_index>(offset - (before.rfind('\n') + 1) + 1)};
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
      i = quoted_at(text, i).end;
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

// The first opening quote of a string that does not end: on its line, or with three quotes in the
// whole text.
std::optional<toml::source_position> unclosed_quote(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '#') {
      i = std::min(text.find('\n', i), text.size());
    } else if (text[i] == '"' || text[i] == '\'') {
      const Quoted quoted = quoted_at(text, i);
      if (!quoted.is_closed) return position_of(text, i);
      i = quoted.end;
    } else {
      ++i;
    }
  }
  return std::nullopt;
}

// What the parser says, and what that means. toml++ 3.3 puts the thing that it was parsing in
// front, and what it saw behind.
struct Fault {
  std::string_view said;
  std::string_view words;
};
constexpr Fault faults[] = {
    {"key-value pair: expected '='", "expected = after the key, as in key = value"},
    {"key-value pair: expected value", "expected a value after ="},
    {"value: could not determine value type",
     "this is not a value: expected a number, true, false, a string in quotes, or a list"},
    {"table header: expected ']'", "expected ] at the end of the table's name"},
    {"array: expected comma or closing ']'", "expected a comma or the ] that closes the list"},
    {"inline table: expected", "expected } on the line on which the table's { stands"},
    {"leading zeroes are prohibited", "a number cannot begin with 0; a string has quotes"},
    {"expected a comment or whitespace", "expected the end of the line after the value"},
    {"unknown escape sequence",
     "in double quotes, a backslash begins an escape; write two backslashes, or single quotes"},
    {"root table: expected keys", "expected a key, a table such as [name], or # and a comment"},
    {"expected bare key starting character",
     "expected a key of letters, digits, - and _, or a key in quotes"},
    {"invalid utf-8", "this is not UTF-8 text"},
};

// "nnodes" of "cannot redefine existing integer 'nnodes'".
std::string_view name_set_twice(std::string_view description) {
  if (!description.contains("cannot redefine existing")) return {};
  const std::size_t open = description.find('\'');
  const std::size_t close = description.find('\'', open + 1);
  return close == description.npos ? "" : description.substr(open + 1, close - open - 1);
}

}  // namespace

std::string toml_fault(std::string_view description) {
  constexpr std::string_view prefix = "Error while parsing ";
  for (const Fault& fault : faults) {
    if (description.contains(fault.said)) return std::string(fault.words);
  }
  if (const auto name = name_set_twice(description); !name.empty()) {
    return std::string(name) + " is set twice";
  }
  const std::size_t colon = description.find(": ");
  if (!description.starts_with(prefix) || colon == description.npos) {
    return std::string(description);
  }
  return std::string(description.substr(colon + 2));
}

toml::table parse_toml(std::string_view text, std::string_view label) {
  const std::size_t at = too_long_key(text);
  if (at != text.npos) {
    throw toml::parse_error("a key has more than 256 parts", position_of(text, at));
  }
  try {
    return toml::parse(text, label);
  } catch (const toml::parse_error& error) {
    const auto quote = unclosed_quote(text);
    if (!quote || quote->line > error.source().begin.line) throw;
    throw toml::parse_error("the string that begins here has no closing quote", *quote);
  }
}

}  // namespace toprun
