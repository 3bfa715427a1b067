#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/environment.h"

namespace toprun {

// How text is shown where a descriptor leads. Colours and shortened lines are for terminals: files
// and pipes get all of it.
struct Look {
  bool colour = false;
  std::size_t columns = 0;  // longer lines are shortened; 0: none is
};

// Whether the user lets a terminal show colours: NO_COLOR is unset or empty (no-color.org) and TERM
// is not "dumb".
bool wants_colours(const Environment& environment);

// Set for an agent whose stderr a toprun elsewhere passes on to a terminal that shows colours.
inline constexpr std::string_view colours_variable = "TOPRUN_COLOURS";

Look look_of(int fd, const Environment& environment);
// Of stderr, wherever it is shown in the end.
Look look_of_stderr(const Environment& environment);

// Colours of the meaning, not of the thing: what they mean is also said in words.
enum class Colour { good, waiting, bad, faint };
std::string coloured(std::string_view text, Colour colour, const Look& look);

// Columns that UTF-8 text takes, counting code points: enough for what programs print.
std::size_t columns_of(std::string_view text);

// The text in at most so many columns (0: as it is): of a longer one the beginning and the end,
// which in an error message are what happened and why, with "…" in between.
std::string both_ends(std::string_view text, std::size_t columns);

}  // namespace toprun
