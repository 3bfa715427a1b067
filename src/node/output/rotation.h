#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace toprun::output {

// Decides when a log with a size limit continues in a new file. No line is split: a line that does
// not fit starts the next file. A line longer than the limit gets its own file, which exceeds the
// limit.
class Rotation {
 public:
  static constexpr int kept_files = 4;  // FILE.1 (the newest) to FILE.4

  struct Part {
    // True: rotate first, and move the last `carry_bytes` of the old file to the new file.
    bool rotate;
    std::uint64_t carry_bytes;
    std::string_view bytes;  // the bytes to write afterwards
  };

  explicit Rotation(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // The parts are consecutive pieces of `bytes` without gaps.
  std::vector<Part> add(std::string_view bytes);

 private:
  void append(std::string_view bytes, std::vector<Part>& parts);
  Part rotated(std::uint64_t carry_bytes);

  std::uint64_t limit_bytes_;
  std::uint64_t size_bytes_ = 0;
  std::uint64_t open_bytes_ = 0;  // the size of the unfinished last line
  bool after_return_ = false;     // the last byte was \r, which is a line end unless \n follows
};

// Rotates the log `path`, which is open for reading and writing as `fd`. path becomes path.1,
// path.1 becomes path.2 and so on; the oldest file is deleted. Afterwards `fd` is the new file,
// which starts with the last `carry_bytes` of the old file. Returns 0 or an errno. On an error, the
// log continues in the old file.
int rotate_files(int fd, const std::string& path, std::uint64_t carry_bytes);

}  // namespace toprun::output
