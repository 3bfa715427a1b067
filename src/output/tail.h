#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace toprun::output {

// The end of a worker's output, kept in bounded memory while it runs. Python writes a line word by
// word: what one stream has not finished does not stand within the other's lines.
class Tail {
 public:
  static constexpr std::size_t kept_bytes = 64 * 1024;
  enum class Source : std::size_t { out, err };

  void add(Source source, std::string_view bytes);
  // Both streams, in whole lines; one that is not finished stands where its last piece came.
  std::string text() const;
  std::string_view text_of(Source source) const { return of_source_[index(source)]; }

 private:
  struct Unfinished {
    std::string line;
    std::size_t at = 0;        // its place in lines_
    bool follows_own = false;  // the same stream's line is before it there
  };

  static constexpr std::size_t index(Source source) { return static_cast<std::size_t>(source); }
  void add_lines(Source source, std::string_view bytes);

  std::string lines_;
  std::optional<Source> last_;  // of lines_
  std::array<Unfinished, 2> unfinished_;
  std::array<std::string, 2> of_source_;
};

// One printed line in the form for a report: only the text after the last \r (without overwritten
// progress bars), no terminal sequences, control characters and invalid UTF-8 escaped as \xNN, at
// most `limit_bytes` and "…".
std::string shown_line(std::string_view line, std::size_t limit_bytes);

// The last `count` non-empty lines of `text`, each formatted by shown_line().
std::vector<std::string> last_lines(std::string_view text, std::size_t count,
                                    std::size_t line_limit_bytes);

// What `text` shows last on a terminal: its last line, or the last state of a progress bar, that is
// not blank, nor a warning or note that PyTorch's C++ code logs if anything else is shown;
// formatted by shown_line(), without secrets, at most `limit_bytes` with its "…". Empty: nothing is
// shown.
std::string last_state(std::string_view text, std::size_t limit_bytes);

// The last `count` lines that are not blank, the newest last, each in the same form.
std::vector<std::string> last_public_lines(std::string_view text, std::size_t count,
                                           std::size_t limit_bytes);

// The exception at the end of the last Python traceback in `text`: "ValueError: boom" and further
// lines of its message, without the prefix that PyTorch puts before each line of a rank's traceback
// ("[rank3]: "). Empty if there is no traceback or it is cut off. A traceback that Python itself
// ignored ("Exception ignored in …") does not count.
std::string last_exception(std::string_view text);
// The same of a worker: Python writes it to stderr, but a script may have led that to stdout. Also
// the last line, if Python says by it that it cannot compile, find or open what it is to run; other
// last lines, such as those of sys.exit("text"), may be mere warnings.
std::string last_exception(const Tail& tail);

// Whether Python says by this line that it cannot find or open what it is to run
// ("/usr/bin/python3: No module named x"; runpy.py, Modules/main.c).
bool tells_of_a_missing_program(std::string_view line);

}  // namespace toprun::output
