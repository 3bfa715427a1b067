#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>

#include "base/error.h"
#include "base/fd.h"
#include "output/rotation.h"
#include "output/writer.h"

namespace toprun::output {

// Created, or truncated if it is there. Blocks.
Result<Fd> open_log(const std::string& path);

// The log files of one attempt, written on one thread. A disk that is full is said once; the job
// goes on, and so do the logs once there is space.
class LogFiles {
 public:
  using File = int;  // while it is open; none: no_file
  static constexpr File no_file = -1;

  // `roomy`: room() turned true again, or idle() did and was asked for.
  LogFiles(boost::asio::io_context& io, std::optional<std::uint64_t> max_bytes,
           std::function<void()> roomy);
  ~LogFiles();  // what is not written yet is lost
  LogFiles(const LogFiles&) = delete;
  LogFiles& operator=(const LogFiles&) = delete;

  // `opened`: what open_log() gave for it; null: it is opened here.
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
  std::map<File, State> files_;  // closed ones too, whose last writes may still fail
  int said_ = 0;                 // errno
};

}  // namespace toprun::output
