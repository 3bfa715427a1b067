#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/os/fd.h"
#include "base/text/error.h"
#include "node/output/writer.h"

namespace toprun::output {

// Decides when a worker's log with a size limit continues in a new file. No line is split, and a
// line that does not fit starts the next file. A line longer than the limit gets its own file,
// which exceeds the limit.
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

  // Splits `bytes` into the parts to write: consecutive pieces of `bytes` without gaps.
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

// Creates the log file, or truncates an existing file. Blocks.
Result<Fd> open_log(const std::string& path);

// The log files of one attempt; one thread writes them all. A full disk is reported once. When a
// disk is full, the job continues, and logs are written again when there is space.
class LogFiles {
 public:
  using File = int;  // valid while the file is open; no_file: there is no file
  static constexpr File no_file = -1;

  // Calls `roomy` when room() becomes true again, or when idle() becomes true after it was false.
  LogFiles(boost::asio::io_context& io, std::optional<std::uint64_t> max_bytes,
           std::function<void()> roomy);
  ~LogFiles();  // unwritten text is lost
  LogFiles(const LogFiles&) = delete;
  LogFiles& operator=(const LogFiles&) = delete;

  // Adds a log file. `opened`: the result of open_log() for this path; if null, opens the file.
  Result<File> open(const std::string& path, const std::shared_ptr<Fd>& opened);
  void write(File file, std::string_view bytes);
  void close(File file);
  bool room() const { return writer_->room(); }
  bool idle() { return writer_->idle(); }

 private:
  struct State {
    std::string path;
    std::optional<Rotation> rotation;
    bool open = false;
  };
  void failed(int fd, int code);

  std::optional<std::uint64_t> max_bytes_;
  std::shared_ptr<Writer> writer_;
  std::map<File, State> files_;  // closed files too, because their last writes may still fail
  int reported_errno_ = 0;       // the errno reported last
};

}  // namespace toprun::output
