#include "cli/verbs/jobs/screen.h"

#include <unistd.h>

#include <string_view>
#include <utility>

#include "base/os/fd.h"

namespace toprun::cli {
namespace {

// Second screen, no cursor, no wrapped lines; and back.
constexpr std::string_view take_terminal = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view leave_terminal = "\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr std::string_view to_the_top = "\x1b[H";
constexpr std::string_view erase_line = "\x1b[K";
constexpr std::string_view erase_below = "\r\n\x1b[J";
constexpr TerminalSize usual_size{.columns = 80, .rows = 24};

}  // namespace

Result<Screen> Screen::open(int in, int out) {
  termios settings{};
  if (::tcgetattr(in, &settings) != 0) return fail_errno("cannot read the terminal's settings");
  Screen screen(in, out, settings);
  screen.take_again();
  return screen;
}

Screen::Screen(Screen&& other) noexcept
    : in_(other.in_),
      out_(other.out_),
      settings_(other.settings_),
      is_ours_(std::exchange(other.is_ours_, false)) {}

TerminalSize Screen::size() const {
  const TerminalSize size = terminal_size(out_);
  return size.columns > 0 && size.rows > 0 ? size : usual_size;
}

void Screen::draw(const std::vector<std::string>& lines) {
  std::string text(to_the_top);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) text += "\r\n";
    text.append(erase_line).append(lines[i]);
  }
  if (lines.size() < size().rows) text += erase_below;
  if (text == drawn_) return;
  write_all(out_, text);  // the terminal may be gone: reading tells
  drawn_ = std::move(text);
}

// Ctrl-C and Ctrl-Z stay signals; Ctrl-S does not stop the drawing.
void Screen::take_again() {
  termios requested = settings_;
  requested.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  requested.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL);
  requested.c_cc[VMIN] = 1;
  requested.c_cc[VTIME] = 0;
  ::tcsetattr(in_, TCSANOW, &requested);
  write_all(out_, take_terminal);
  drawn_.clear();
  is_ours_ = true;
}

void Screen::give_back() {
  if (!std::exchange(is_ours_, false)) return;
  write_all(out_, leave_terminal);
  ::tcsetattr(in_, TCSANOW, &settings_);
}

}  // namespace toprun::cli
