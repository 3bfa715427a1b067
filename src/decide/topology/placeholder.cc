#include "decide/topology/placeholder.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text/text.h"

namespace toprun::topology {
namespace {

// Without separators between the parts: "not-available", "not available", "Not_Available".
constexpr std::array<std::string_view, 16> placeholder_words = {
    "none",       "null",   "nil",          "novalue",      "unknown",     "undefined",
    "unset",      "n/a",    "notsupported", "notavailable", "unavailable", "noimdsdata",
    "notopology", "notset", "nodata",       "notapplicable"};
constexpr std::size_t longest = 24;  // of these words, with brackets and blanks

bool is_separator(char c) {
  return c == '-' || c == '_' || c == ' ';
}

std::string_view without_brackets(std::string_view text) {
  constexpr std::array<std::string_view, 3> pairs = {"[]", "<>", "()"};
  for (const std::string_view pair : pairs) {
    if (text.size() > 1 && text.front() == pair[0] && text.back() == pair[1]) {
      return text.substr(1, text.size() - 2);
    }
  }
  return text;
}

// Whether it is an identifier that consists of zeros. A short row of zeros may be a rack's number.
bool is_zero_id(std::string_view text) {
  constexpr std::ptrdiff_t least_zeros = 16;
  if (text == "0x0") return true;
  if (text.empty() || text.front() != '0') return false;
  if (text.starts_with("0x")) text.remove_prefix(2);
  const std::string_view id = text.substr(0, text.find('.'));  // ".CLIQUE"
  return id.find_first_not_of("0-") == id.npos && std::ranges::count(id, '0') >= least_zeros;
}

}  // namespace

bool is_placeholder(std::string_view name) {
  // A fast check that decides nearly all names.
  constexpr std::string_view first_letters = "nNuU0-_ [<(";
  if (!name.empty() && first_letters.find(name.front()) == name.npos) return false;
  if (name.size() > longest || name.starts_with('0')) return is_zero_id(name);
  std::string word;
  for (const char c : without_brackets(name)) {
    if (!is_separator(c)) word += c;
  }
  return word.empty() ||
         std::ranges::find(placeholder_words, lower(word)) != placeholder_words.end();
}

}  // namespace toprun::topology
