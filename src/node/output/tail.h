#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace toprun::output {

// The last part of a worker's output, in limited memory. While a line of one stream is unfinished,
// lines of the other stream are not mixed into it, because Python writes a line in several pieces.
class Tail {
 public:
  static constexpr std::size_t kept_bytes = 64 * 1024;
  enum class Source : std::size_t { out, err };

  void add(Source source, std::string_view bytes);
  // Returns the output of both streams. If the last line of one stream has no newline yet, the
  // lines that the other stream printed later come after this line.
  std::string text() const;
  std::string_view text_of(Source source) const { return of_source_[index(source)]; }

 private:
  struct Unfinished {
    std::string line;
    std::size_t at = 0;        // the line's position in lines_
    bool follows_own = false;  // the text before this position is from the same stream
  };

  static constexpr std::size_t index(Source source) { return static_cast<std::size_t>(source); }
  void add_lines(Source source, std::string_view bytes);

  std::string lines_;
  std::optional<Source> last_;  // the source of the last text in lines_
  std::array<Unfinished, 2> unfinished_;
  std::array<std::string, 2> of_source_;
};

// Returns the exception at the end of the last Python traceback in `text`: "ValueError: boom" and
// further lines of its message. Removes the prefix that PyTorch puts before each line of a rank's
// traceback ("[rank3]: "). Empty if the text has no traceback or the traceback is incomplete. A
// traceback that Python itself ignored ("Exception ignored in …") does not count.
std::string last_exception(std::string_view text);
// Returns the last exception in a worker's stderr, else in its stdout, because a script may have
// redirected stderr. Without a traceback, returns the last line if it is Python's message that it
// cannot compile, find or open the program. Never returns any other last line, such as the text of
// sys.exit("text"), because it may be a warning.
std::string last_exception(const Tail& tail);

}  // namespace toprun::output
