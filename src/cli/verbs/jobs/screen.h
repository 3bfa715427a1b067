#pragma once

#include <termios.h>

#include <string>
#include <vector>

#include "base/os/look.h"
#include "base/text/error.h"

namespace toprun::cli {

// A terminal that one program draws on as a whole, by the sequences of ECMA-48 and xterm's second
// screen, which every terminal in use knows. Its lines come back when this object goes.
class Screen {
 public:
  static Result<Screen> open(int in, int out);
  Screen(Screen&& other) noexcept;
  Screen& operator=(Screen&&) = delete;
  ~Screen() { give_back(); }

  TerminalSize size() const;
  void draw(const std::vector<std::string>& lines);
  // For another program, or the shell while this one is suspended.
  void give_back();
  void take_again();

 private:
  Screen(int in, int out, termios settings) : in_(in), out_(out), settings_(settings) {}

  int in_;
  int out_;
  termios settings_;  // as they were
  bool is_ours_ = false;
  std::string drawn_;
};

}  // namespace toprun::cli
