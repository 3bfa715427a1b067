#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace toprun::output {

inline bool ends_line(char c) {
  return c == '\n' || c == '\r';
}

// The offset after the last \n or \r; 0 if the text has neither.
std::size_t end_of_last_line(std::string_view bytes);

// The offset after the first line end (\r\n counts as one); the size if the text has no line end.
std::size_t end_of_first_line(std::string_view bytes);

// Splits the output of one worker stream into whole lines. A line ends at \n or at \r (as in
// progress bars). An unfinished line is held back until the caller flushes it or its size reaches
// `longest_held_bytes`.
class Lines {
 public:
  static constexpr std::size_t longest_held_bytes = 64 * 1024;

  // Adds printed bytes and returns the lines that are now complete; the result may be empty.
  std::string add(std::string_view bytes);
  // Returns the text that was held back.
  std::string flush();
  bool holds_back() const { return !held_.empty(); }

 private:
  std::string held_;
};

}  // namespace toprun::output
