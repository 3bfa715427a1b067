#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace toprun::jobs {

inline constexpr std::size_t max_line_bytes = 64u << 10;  // a longer one is shown in pieces

// Reads what was added to a file since it was last asked. The file is opened anew each time: only
// that makes a network file system show what another node has written. One that became shorter, or
// another file of the same name, is read from its start.
class LogTail {
 public:
  // Told each whole line, without its end. False: it is not to be shown.
  using Wanted = std::function<bool(std::string_view line)>;

  // Lines begin with `prefix`; where it is empty and neither `whole_lines` nor `wanted` is asked
  // for, bytes are given as they come.
  LogTail(std::string path, std::string prefix, bool whole_lines, Wanted wanted = {});

  // Reads what is new, at most some MiB of it; false: nothing, or there is no such file (yet).
  // `text` gets it as it is to be shown.
  bool read_new(std::string& text);
  // The line that was begun and not ended, with an end.
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
  std::string begun_;  // of a line
  bool ended_ = true;  // the last byte that was given ended a line
};

}  // namespace toprun::jobs
