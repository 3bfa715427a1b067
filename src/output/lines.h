#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace toprun::output {

inline bool ends_line(char c) {
  return c == '\n' || c == '\r';
}

// Past the end of the first line, \r\n counted as one end; the whole if it does not end.
std::size_t end_of_first_line(std::string_view bytes);

// Cuts what one stream of a worker prints into whole lines. A line ends at \n or \r (progress
// bars). An unfinished line is held back until the caller flushes it or it reaches
// `longest_held_bytes`.
class Lines {
 public:
  static constexpr std::size_t longest_held_bytes = 64 * 1024;

  // Takes what the stream printed and returns the lines that are whole now, empty if none is.
  std::string add(std::string_view bytes);
  // What was held back.
  std::string flush();
  bool holds_back() const { return !held_.empty(); }

 private:
  std::string held_;
};

}  // namespace toprun::output
