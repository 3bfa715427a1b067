#pragma once

#include <string>
#include <string_view>

namespace toprun {

// One character of a text with arbitrary bytes.
struct Character {
  std::string_view bytes;  // a single byte if this byte is not valid UTF-8
  char32_t code = 0;
  bool valid = false;
};

// The first character of a text that is not empty (RFC 3629).
Character first_character(std::string_view text);

// Whether the character is harmless inside a line. A harmless character is visible, does not
// control a terminal (C0, C1), does not end the line, and does not change the direction of the
// following text (Unicode Standard, 23.1 and annex 9).
bool is_harmless(const Character& character);

// Like printable() in base/text/text.h, for whole lines: line ends, tabs and colours (ECMA-48's
// SGR) are kept.
std::string printable_lines(std::string_view text);

}  // namespace toprun
