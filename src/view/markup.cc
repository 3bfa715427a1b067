#include "view/markup.h"

#include <array>
#include <cstdint>
#include <vector>

#include "base/text.h"

namespace toprun::view {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::string_view ellipsis = "\xE2\x80\xA6";

struct Character {
  std::string_view bytes;
  char32_t code = 0;
  bool valid = false;
};

// The first character of a text that is not empty (RFC 3629).
Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {text.substr(0, 1), lead, true};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  constexpr std::array<char32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  if (lead < 0xC0 || lead >= 0xF8 || text.size() < length) return {text.substr(0, 1), 0, false};
  char32_t code = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {text.substr(0, 1), 0, false};
    code = (code << 6) | (byte(i) & 0x3Fu);
  }
  const bool valid =
      code >= least[length] && code <= 0x10FFFF && !(code >= 0xD800 && code <= 0xDFFF);
  return {text.substr(0, valid ? length : 1), code, valid};
}

bool can_stand(char32_t code) {
  const bool control = code >= 0x80 && code < 0xA0;
  const bool turns_direction = (code >= 0x202A && code <= 0x202E) ||
                               (code >= 0x2066 && code <= 0x2069) || code == 0x200E ||
                               code == 0x200F;
  const bool breaks_line = code == 0x2028 || code == 0x2029;
  return !control && !turns_direction && !breaks_line && code != 0xFFFE && code != 0xFFFF;
}

// Near enough: the blocks of the Unicode Standard's annex 11 whose characters are all wide.
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
    all.push_back(first_of(text));
    text.remove_prefix(all.back().bytes.size());
  }
  return all;
}

}  // namespace

std::string clean_text(std::string_view text) {
  std::string out;
  const std::string line = printable(text);
  for (std::string_view rest = line; !rest.empty();) {
    const Character character = first_of(rest);
    out += character.valid && can_stand(character.code) ? character.bytes : replacement;
    rest.remove_prefix(character.bytes.size());
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
  // The end of a name tells hosts apart, its beginning says what they are.
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

}  // namespace toprun::view
