#pragma once

#include <string>
#include <string_view>

namespace toprun::output {

// Which source has written an unfinished line to a console that several share.
struct Cursor {
  static constexpr int nobody = -1;
  int owner = nobody;
};

// Makes of one source's lines what goes to a console: a prefix before each, and where another
// source left a line unfinished, a new line first.
class Display {
 public:
  // `id` tells the sources of one console apart. `prefix` may be empty.
  Display(int id, std::string prefix, Cursor& cursor)
      : id_(id), prefix_(std::move(prefix)), cursor_(cursor) {}

  std::string compose(std::string lines);

 private:
  void append_prefixed(std::string_view piece, bool at_start, std::string& out) const;

  int id_;
  std::string prefix_;
  Cursor& cursor_;
  bool after_return_ = false;  // the last piece ended with \r, so that a lone \n only completes it
};

// A prefix's macros: ${role_name}, ${local_rank}, ${rank}, ${hostname}.
struct PrefixFacts {
  std::string_view role_name;
  int local_rank = 0;
  int rank = 0;
  std::string_view hostname;
};

// torchrun's --log-line-prefix-template, which is a Python string.Template: $NAME is as good as
// ${NAME}, $$ is one $, and what is no macro stays. An empty one is "[${role_name}${local_rank}]:".
std::string expand_prefix(std::string_view prefix_template, const PrefixFacts& facts);

// The text in one of a terminal's colours; `number` chooses, any number ≥ 0 is good.
std::string coloured(std::string_view text, int number);

}  // namespace toprun::output
