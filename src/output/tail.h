#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace toprun::output {

// The end of a worker's output, kept in bounded memory while it runs.
class Tail {
 public:
  static constexpr std::size_t kept_bytes = 64 * 1024;

  // Takes bytes of one of several sources; a change of source starts a new line.
  void add(int source, std::string_view bytes);
  std::string_view text() const { return text_; }

 private:
  int source_ = -1;
  std::string text_;
};

// One printed line in the form for a report: only the text after the last \r (without overwritten
// progress bars), no terminal colours, control characters and invalid UTF-8 escaped as \xNN, at
// most `limit_bytes` and "…".
std::string shown_line(std::string_view line, std::size_t limit_bytes);

// The last `count` non-empty lines of `text`, each formatted by shown_line().
std::vector<std::string> last_lines(std::string_view text, std::size_t count,
                                    std::size_t line_limit_bytes);

// The exception at the end of the last Python traceback in `text`: "ValueError: boom" and further
// lines of its message, without the prefix that PyTorch puts before each line of a rank's traceback
// ("[rank3]: "). Empty if there is no traceback or it is cut off. A traceback that Python itself
// ignored ("Exception ignored in …") does not count.
std::string last_exception(std::string_view text);

}  // namespace toprun::output
