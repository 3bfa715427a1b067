#include "base/os/style.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

namespace toprun {
namespace {

constexpr std::size_t least_columns = 40;  // narrower terminals wrap lines themselves

bool begins_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
}

// The offset of the character with this index; the text's size if there is no such character.
std::size_t place_of(std::string_view text, std::size_t character) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (begins_character(text[i]) && count++ == character) return i;
  }
  return text.size();
}

int code_of(Colour colour) {
  switch (colour) {
    case Colour::good:
      return 32;
    case Colour::waiting:
      return 33;
    case Colour::bad:
      return 31;
    case Colour::faint:
      return 2;
  }
  return 0;
}

}  // namespace

bool wants_colours(const Environment& environment) {
  return !environment.non_empty("NO_COLOR") && environment.get("TERM") != "dumb";
}

Style style_of(int fd, const Environment& environment) {
  if (::isatty(fd) != 1) return {};
  const std::size_t columns = terminal_size(fd).columns;
  return {wants_colours(environment), columns >= least_columns ? columns : 0};
}

TerminalSize terminal_size(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0) return {};
  return {size.ws_col, size.ws_row};
}

Style style_of_stderr(const Environment& environment) {
  if (environment.non_empty(colours_variable)) return {.colour = true};
  return style_of(STDERR_FILENO, environment);
}

std::string coloured(std::string_view text, Colour colour, const Style& style) {
  if (!style.colour || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code_of(colour), text);
}

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::string both_ends(std::string_view text, std::size_t columns) {
  const std::size_t whole = columns_of(text);
  if (columns == 0 || whole <= columns) return std::string(text);
  const std::size_t tail = (columns - 1) / 2;
  const std::size_t head = columns - 1 - tail;
  return fmt::format("{}…{}", text.substr(0, place_of(text, head)),
                     text.substr(place_of(text, whole - tail)));
}

}  // namespace toprun
