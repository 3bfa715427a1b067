#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace toprun::jobs {

inline constexpr std::size_t max_line_bytes = 64u << 10;  // longer lines are shown in pieces

// Reads the text that was appended to a file since the last call. A LogTail opens the file again at
// each call, because a network file system might not show another node's writes in an open file. If
// the file became shorter or was replaced, the file is read from its start.
class LogTail {
 public:
  // Receives each complete line without its line end. Returns false if the line must not be shown.
  using LineFilter = std::function<bool(std::string_view line)>;

  // Each line is shown with `prefix`. If `prefix` is empty, `whole_lines` is false and `filter` is
  // unset, bytes are returned as they arrive, even if a line is not complete.
  LogTail(std::string path, std::string prefix, bool whole_lines, LineFilter filter = {});

  // Appends new text, ready to print, to `text`; at most a few MiB. False: there is no new text, or
  // the file does not exist (yet).
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
  const LineFilter filter_;
  std::uint64_t inode_ = 0;
  std::uint64_t offset_ = 0;
  std::string begun_;  // an unfinished line
  bool ended_ = true;  // the last byte of the output was a line end
};

}  // namespace toprun::jobs
