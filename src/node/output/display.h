#pragma once

#include <string>
#include <string_view>

namespace toprun::output {

// On a console with several sources: which source wrote the last line, if this line is unfinished.
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
  // The last piece ended with \r: a \n at the start of the next piece only completes that line end.
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

// The text in one of a terminal's colours. `number` selects the colour; any number ≥ 0 is valid.
std::string coloured(std::string_view text, int number);

}  // namespace toprun::output
