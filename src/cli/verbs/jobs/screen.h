#pragma once

#include <termios.h>

#include <string>
#include <vector>

#include "base/os/style.h"
#include "base/text/error.h"

namespace toprun::cli {

// Draws on the whole terminal. A Screen uses the control sequences of ECMA-48 and xterm's alternate
// screen, which all usual terminals support. The previous content of the terminal is restored when
// this object is destroyed.
class Screen {
 public:
  static Result<Screen> open(int in, int out);
  Screen(Screen&& other) noexcept;
  Screen& operator=(Screen&&) = delete;
  ~Screen() { give_back(); }

  TerminalSize size() const;
  void draw(const std::vector<std::string>& lines);
  // Releases the terminal for another program, or for the shell while this program is suspended.
  void give_back();
  void take_again();

 private:
  Screen(int in, int out, termios settings) : in_(in), out_(out), settings_(settings) {}

  int in_;
  int out_;
  termios settings_;  // the terminal's original settings
  bool is_ours_ = false;
  std::string drawn_;
};

}  // namespace toprun::cli
