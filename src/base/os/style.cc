#include "base/os/style.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text/text.h"

namespace toprun {
namespace {

constexpr std::size_t least_columns = 40;  // narrower terminals wrap lines themselves

// An approximation: the blocks of Unicode Standard Annex #11 in which all characters are wide.
std::size_t columns_of(char32_t code) {
  const bool wide = (code >= 0x1100 && code <= 0x115F) || (code >= 0x2E80 && code <= 0xA4CF) ||
                    (code >= 0xAC00 && code <= 0xD7A3) || (code >= 0xF900 && code <= 0xFAFF) ||
                    (code >= 0xFE30 && code <= 0xFE6F) || (code >= 0xFF00 && code <= 0xFF60) ||
                    (code >= 0x1F300 && code <= 0x1FAFF) || (code >= 0x20000 && code <= 0x3FFFD);
  return wide ? 2 : 1;
}

// The columns of a text's first character, which is taken off.
std::size_t take_columns(std::string_view& text) {
  const Character first = first_character(text);
  text.remove_prefix(first.bytes.size());
  return columns_of(first.code);
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
  std::size_t columns = 0;
  while (!text.empty()) columns += take_columns(text);
  return columns;
}

std::string both_ends(std::string_view text, std::size_t columns) {
  std::size_t left = columns_of(text);
  if (columns == 0 || left <= columns) return std::string(text);
  std::string_view end = text;
  while (left > (columns - 1) / 2) left -= take_columns(end);
  std::string_view rest = text;
  for (std::string_view next = text; (left += take_columns(next)) < columns;) rest = next;
  return fmt::format("{}…{}", text.substr(0, text.size() - rest.size()), end);
}

}  // namespace toprun
