#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace toprun::output {

// Which of a console's sources wrote the last line, if this line is unfinished; else no_owner.
struct Cursor {
  static constexpr int no_owner = -1;
  int owner = no_owner;
};

// Composes the console text of one source. Each line gets a prefix. If another source has left a
// line unfinished, the text begins with a newline.
class Display {
 public:
  // `id` identifies the source on its console. `prefix` may be empty.
  Display(int id, std::string prefix, Cursor& cursor)
      : id_(id), prefix_(std::move(prefix)), cursor_(cursor) {}

  std::string compose(std::string lines);

 private:
  void append_prefixed(std::string_view piece, bool at_start, std::string& out) const;

  int id_;
  std::string prefix_;
  Cursor& cursor_;
  // True: the last piece of text ended with \r. A \n at the start of the next piece then only
  // completes that line end.
  bool after_return_ = false;
};

// Values for the macros in a prefix: ${role_name}, ${local_rank}, ${rank}, ${hostname}.
struct PrefixFacts {
  std::string_view role_name;
  int local_rank = 0;
  int rank = 0;
  std::string_view hostname;
};

// Expands torchrun's --log-line-prefix-template, which is a Python string.Template: $NAME equals
// ${NAME}, $$ is one $, and unknown macros stay unchanged. An empty template means
// "[${role_name}${local_rank}]:".
std::string expand_prefix(std::string_view prefix_template, const PrefixFacts& facts);

// Returns `text` in a terminal's colour that `number` (any number ≥ 0) selects.
std::string coloured(std::string_view text, int number);

// Selects the lines of one stream that contain one of the search texts (needles), for torchrun's
// filtered_stdout.log. Each selected line is written as prefix, line and \n, even if it ended in
// \r.
class Filter {
 public:
  static constexpr std::size_t longest_line_bytes = 64 * 1024;  // a longer line is split

  Filter(std::vector<std::string> needles, std::string prefix)
      : needles_(std::move(needles)), prefix_(std::move(prefix)) {}

  // Adds printed text and returns the selected lines. Stores an unfinished line until the next
  // call.
  std::string add(std::string_view text);
  // Returns the unfinished line if it contains a needle.
  std::string flush();

 private:
  bool matches(std::string_view text) const;
  void append_if_matching(std::string_view line, std::string& out) const;

  std::vector<std::string> needles_;
  std::string prefix_;
  std::string begun_;
};

inline bool ends_line(char c) {
  return c == '\n' || c == '\r';
}

// Returns the offset after the last \n or \r; 0 if the text has neither.
std::size_t end_of_last_line(std::string_view bytes);

// Returns the offset after the first line end (\r\n counts as one). Without a line end, returns the
// text's size.
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
