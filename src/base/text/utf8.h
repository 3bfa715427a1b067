#pragma once

#include <string>
#include <string_view>

namespace toprun {

// One character of a text with arbitrary bytes.
struct Character {
  std::string_view bytes;  // one byte where they are not UTF-8
  char32_t code = 0;
  bool valid = false;
};

// The first character of a text that is not empty (RFC 3629).
Character first_character(std::string_view text);

// Whether the character is harmless inside a line: it controls no terminal (C0, C1), ends no line,
// is seen, and does not change the direction of what follows. (Unicode Standard, 23.1 and annex 9.)
bool is_harmless(const Character& character);

// As printable() of base/text/text.h, for whole lines: line ends, tabs and colours (ECMA-48's SGR)
// stay.
std::string printable_lines(std::string_view text);

}  // namespace toprun
