#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace toprun::agent {

// Which stream has written an unfinished line to a console that several share.
struct Cursor {
  static constexpr int nobody = -1;
  int owner = nobody;
};

// Cuts what one stream of a worker prints into what may go to a shared console: whole lines only. A
// line ends at \n or \r (progress bars). An unfinished line is held back until the caller flushes
// it or it reaches `longest_held_bytes`; when another stream writes next, that starts on a new
// line.
class Lines {
 public:
  static constexpr std::size_t longest_held_bytes = 64 * 1024;

  // `id` tells the streams of one console apart. `prefix` starts every line, may be empty.
  Lines(int id, std::string prefix, Cursor& cursor)
      : id_(id), prefix_(std::move(prefix)), cursor_(cursor) {}

  // Takes what the stream printed and returns what is to be written now, empty if nothing is.
  std::string add(std::string_view bytes);
  // What was held back.
  std::string flush();
  bool holds_back() const { return !held_.empty(); }

 private:
  std::string compose(std::string_view first, std::string_view second);
  void append_prefixed(std::string_view piece, bool at_start, std::string& out) const;

  int id_;
  std::string prefix_;
  Cursor& cursor_;
  std::string held_;
  bool after_return_ = false;  // the last piece ended with \r, so that a lone \n only completes it
};

}  // namespace toprun::agent
