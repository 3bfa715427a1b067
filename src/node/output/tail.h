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

// The exception at the end of the last Python traceback in `text`: "ValueError: boom" and further
// lines of its message, without the prefix that PyTorch puts before each line of a rank's traceback
// ("[rank3]: "). Empty if there is no traceback or it is cut off. A traceback that Python itself
// ignored ("Exception ignored in …") does not count.
std::string last_exception(std::string_view text);
// The same of a worker: Python writes it to stderr, but a script may have led that to stdout. Also
// the last line, if Python says by it that it cannot compile, find or open what it is to run; other
// last lines, such as those of sys.exit("text"), may be mere warnings.
std::string last_exception(const Tail& tail);

}  // namespace toprun::output
