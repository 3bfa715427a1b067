#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/os/environment.h"

namespace toprun {

// How to print text on a descriptor. Only terminals get colours and shortened lines; files and
// pipes get the whole text.
struct Style {
  bool colour = false;
  std::size_t columns = 0;  // longer lines are shortened; 0: no line is shortened
};

// Whether the user allows colours on a terminal. True if NO_COLOR is unset or empty (no-color.org)
// and TERM is not "dumb".
bool wants_colours(const Environment& environment);

// toprun sets this variable for agents whose stderr it forwards to a terminal with colours.
inline constexpr std::string_view colours_variable = "TOPRUN_COLOURS";

Style style_of(int fd, const Environment& environment);
// Returns the style of stderr, with colours if another toprun forwards stderr to a colour terminal.
Style style_of_stderr(const Environment& environment);

// What a colour means. Coloured text also says the same in words.
enum class Colour { good, waiting, bad, faint };
std::string coloured(std::string_view text, Colour colour, const Style& style);

// The size of a terminal. 0: the descriptor is not a terminal, or the terminal's size is unknown.
struct TerminalSize {
  std::size_t columns = 0;
  std::size_t rows = 0;
};
TerminalSize terminal_size(int fd);

// Returns the width of UTF-8 text in columns. East Asian wide characters take two columns, others
// one.
std::size_t columns_of(std::string_view text);

// Shortens a text to `columns` columns (0: no limit). Removes the middle of a longer text and puts
// "…" there, because an error message begins with the problem and ends with the reason.
std::string both_ends(std::string_view text, std::size_t columns);

}  // namespace toprun
