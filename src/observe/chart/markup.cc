#include "observe/chart/markup.h"

#include <vector>

#include "base/text/text.h"
#include "base/text/utf8.h"

namespace toprun::chart {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::string_view ellipsis = "\xE2\x80\xA6";

// An approximation: the blocks of Unicode Standard Annex #11 in which all characters are wide.
std::size_t columns_of(char32_t code) {
  const bool wide = (code >= 0x1100 && code <= 0x115F) || (code >= 0x2E80 && code <= 0xA4CF) ||
                    (code >= 0xAC00 && code <= 0xD7A3) || (code >= 0xF900 && code <= 0xFAFF) ||
                    (code >= 0xFE30 && code <= 0xFE6F) || (code >= 0xFF00 && code <= 0xFF60) ||
                    (code >= 0x1F300 && code <= 0x1FAFF) || (code >= 0x20000 && code <= 0x3FFFD);
  return wide ? 2 : 1;
}

std::vector<Character> characters(std::string_view text) {
  std::vector<Character> all;
  while (!text.empty()) {
    all.push_back(first_character(text));
    text.remove_prefix(all.back().bytes.size());
  }
  return all;
}

}  // namespace

std::string clean_text(std::string_view text) {
  std::string out;
  for (const Character& character : characters(text)) {
    if (character.bytes.size() == 1 && character.valid) {
      out += printable(character.bytes);
    } else {
      out += is_harmless(character) ? character.bytes : replacement;
    }
  }
  return out;
}

std::size_t columns(std::string_view text) {
  std::size_t count = 0;
  for (const Character& character : characters(text)) count += columns_of(character.code);
  return count;
}

std::string shortened(std::string_view text, std::size_t most_columns) {
  if (columns(text) <= most_columns) return std::string(text);
  const std::vector<Character> all = characters(text);
  // The end of a name distinguishes hosts; its beginning shows their kind.
  const std::size_t most_behind = (most_columns - 1) / 2;
  std::size_t used = 0;
  std::string behind;
  for (std::size_t i = all.size(); i-- > 0 && used + columns_of(all[i].code) <= most_behind;) {
    behind.insert(0, all[i].bytes);
    used += columns_of(all[i].code);
  }
  std::string out;
  for (std::size_t i = 0; used + columns_of(all[i].code) <= most_columns - 1; ++i) {
    out += all[i].bytes;
    used += columns_of(all[i].code);
  }
  return (out += ellipsis) += behind;
}

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string dot_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
    if (c == '&') out += "amp;";
  }
  return out;
}

}  // namespace toprun::chart
