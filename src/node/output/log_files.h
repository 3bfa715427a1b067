#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>

#include "base/os/fd.h"
#include "base/text/error.h"
#include "node/output/rotation.h"
#include "node/output/writer.h"

namespace toprun::output {

// Creates the file, or truncates an existing file. Blocks.
Result<Fd> open_log(const std::string& path);

// The log files of one attempt; one thread writes them all. A full disk is reported once. When a
// disk is full, the job continues, and logs are written again when there is space.
class LogFiles {
 public:
  using File = int;  // valid while the file is open; no_file: there is no file
  static constexpr File no_file = -1;

  // `roomy` is called when room() becomes true again, or when idle() becomes true after it was
  // false.
  LogFiles(boost::asio::io_context& io, std::optional<std::uint64_t> max_bytes,
           std::function<void()> roomy);
  ~LogFiles();  // unwritten text is lost
  LogFiles(const LogFiles&) = delete;
  LogFiles& operator=(const LogFiles&) = delete;

  // `opened`: the result of open_log() for this path; if null, open() opens the file itself.
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
