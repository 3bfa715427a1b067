#include "base/text/utf8.h"

#include <array>

namespace toprun {

Character first_character(std::string_view text) {
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

bool is_harmless(const Character& character) {
  const char32_t code = character.code;
  const bool controls = code < 0x20 || (code >= 0x7F && code < 0xA0);
  const bool turns_direction = (code >= 0x202A && code <= 0x202E) ||
                               (code >= 0x2066 && code <= 0x2069) || code == 0x200E ||
                               code == 0x200F || code == 0x061C;
  const bool ends_line = code == 0x2028 || code == 0x2029;
  const bool is_none = code == 0xFFFE || code == 0xFFFF;
  // Two names that differ would look the same. (Joiners, U+200C and U+200D, are part of scripts.)
  const bool is_unseen = code == 0xAD || code == 0x200B || (code >= 0x2060 && code <= 0x2064) ||
                         code == 0xFEFF || (code >= 0xE0000 && code <= 0xE007F);
  return character.valid && !controls && !turns_direction && !ends_line && !is_none && !is_unseen;
}

}  // namespace toprun
