#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace toprun::output {

// When a log that may not grow beyond a limit goes on in a new file, so that no line lies in two:
// the line that does not fit any more begins the next file. A line longer than the limit gets a
// file of its own, which is then larger.
class Rotation {
 public:
  static constexpr int kept_files = 4;  // FILE.1, the youngest, to FILE.4

  struct Part {
    bool rotate;  // first, and the last `carry_bytes` of the old file move to the new one
    std::uint64_t carry_bytes;
    std::string_view bytes;  // then write these
  };

  explicit Rotation(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // The parts lie in `bytes`, in order and without gaps.
  std::vector<Part> add(std::string_view bytes);

 private:
  void append(std::string_view bytes, std::vector<Part>& parts);
  Part rotated(std::uint64_t carry_bytes);

  std::uint64_t limit_bytes_;
  std::uint64_t size_bytes_ = 0;
  std::uint64_t open_bytes_ = 0;  // of them those of a line that has not ended
  bool after_return_ = false;     // the last byte was \r, which ends a line unless \n follows
};

// The log `path`, open for reading and writing as `fd`, becomes path.1 and what was that path.2,
// and so on; what was the last is gone. `fd` is the new file afterwards, with the last
// `carry_bytes` of the old one. 0 or an errno, after which the log goes on in the old file.
int rotate_files(int fd, const std::string& path, std::uint64_t carry_bytes);

}  // namespace toprun::output
