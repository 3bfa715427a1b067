#pragma once

#include <cstdint>
#include <string>

namespace toprun::cli {

inline constexpr std::size_t max_line_bytes = 64u << 10;  // a longer one is shown in pieces

// Reads what was added to a file since it was last asked. The file is opened anew each time: only
// that makes a network file system show what another node has written. One that became shorter, or
// another file of the same name, is read from its start.
class LogTail {
 public:
  // Lines begin with `prefix`; where it is empty and `whole_lines` is not asked for, bytes are
  // given as they come.
  LogTail(std::string path, std::string prefix, bool whole_lines);

  // What is new, as it is to be shown; empty: nothing, or there is no such file (yet). At most some
  // MiB: until it is empty there is more.
  std::string read_new();
  // The line that was begun and not ended, with an end.
  std::string rest();
  const std::string& path() const { return path_; }

 private:
  std::string shown(std::string_view bytes);

  const std::string path_;
  const std::string prefix_;
  const bool whole_lines_;
  std::uint64_t inode_ = 0;
  std::uint64_t offset_ = 0;
  std::string begun_;  // of a line
  bool ended_ = true;  // the last byte that was given ended a line
};

}  // namespace toprun::cli
