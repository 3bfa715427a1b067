#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace toprun::jobs {

inline constexpr std::size_t max_line_bytes = 64u << 10;  // a longer one is shown in pieces

// Reads the text that was added to a file since the last call. It reopens the file each time,
// because only then a network file system shows another node's writes. A file that became shorter,
// or was replaced, is read from its start.
class LogTail {
 public:
  // Receives each whole line without its line end. False: do not show the line.
  using Wanted = std::function<bool(std::string_view line)>;

  // Lines begin with `prefix`; where it is empty and neither `whole_lines` nor `wanted` is asked
  // for, bytes are given as they come.
  LogTail(std::string path, std::string prefix, bool whole_lines, Wanted wanted = {});

  // Appends the new text to `text`, ready to be shown, at most some MiB. False: there is none, or
  // no such file (yet).
  bool read_new(std::string& text);
  // The unfinished last line, with a line end added.
  std::string rest();
  const std::string& path() const { return path_; }

 private:
  std::string shown(std::string_view bytes);
  std::string shown_line(std::string_view line) const;

  const std::string path_;
  const std::string prefix_;
  const bool whole_lines_;
  const Wanted wanted_;
  std::uint64_t inode_ = 0;
  std::uint64_t offset_ = 0;
  std::string begun_;  // an unfinished line
  bool ended_ = true;  // the last byte of the output ended a line
};

}  // namespace toprun::jobs
