#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace toprun::output {

// The end of what a worker printed, kept while it runs in bounded memory.
class Tail {
 public:
  static constexpr std::size_t kept_bytes = 64 * 1024;

  // Takes bytes as they come from one of several sources: where another goes on, a line begins.
  void add(int source, std::string_view bytes);
  std::string_view text() const { return text_; }

 private:
  int source_ = -1;
  std::string text_;
};

// One printed line as a report can show it: what stands after the last \r (an overwritten progress
// bar is gone), no terminal colours, control characters and bytes that are not UTF-8 escaped as
// \xNN, at most `limit_bytes` and "…".
std::string shown_line(std::string_view line, std::size_t limit_bytes);

// The last `count` lines of `text` that are not empty, as shown_line makes them.
std::vector<std::string> last_lines(std::string_view text, std::size_t count,
                                    std::size_t line_limit_bytes);

// What the last Python traceback in `text` ends with: "ValueError: boom" and what continues the
// message on further lines, without the prefix that PyTorch puts before each line of a rank's
// traceback ("[rank3]: "); empty if there is no traceback or it is cut off. A traceback that Python
// itself ignored ("Exception ignored in …") does not count.
std::string last_exception(std::string_view text);

}  // namespace toprun::output
