#pragma once

#include <functional>
#include <memory>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/os/fd.h"
#include "base/text/error.h"

namespace toprun::output {

// Reports that pipes are readable. arm() asks for one report about a pipe. A pipe that is not armed
// causes no wake-ups, even if a process often writes to it. Asio would wake up at every write,
// because Asio watches edge-triggered.
class Readable : public std::enable_shared_from_this<Readable> {
 public:
  using Ready = std::function<void(std::size_t index)>;

  // `ready` is called for a readable pipe, with the index that was passed to arm(). `ready` may
  // call any method of this object.
  static Result<std::shared_ptr<Readable>> create(boost::asio::io_context& io, Ready ready);

  // Adds a pipe, not armed. The caller keeps ownership of `fd`, and must call remove() before
  // closing it.
  Result<void> add(int fd);
  void arm(int fd, std::size_t index);
  void remove(int fd);
  void close();  // stops all reports

 private:
  Readable(boost::asio::io_context& io, Fd epoll, Ready ready);
  void wait();
  void report_ready();

  boost::asio::posix::stream_descriptor epoll_;
  Ready ready_;
};

// A pseudo-terminal (pty(7)) for one stream of a worker. A Pty is not the controlling terminal of
// any process, passes all bytes on unchanged, and does not echo.
struct Pty {
  Fd ours;     // our end, which reads the worker's output; fails with EIO after the last byte
  Fd workers;  // the worker's end, which is a terminal for isatty(3)
};

// Opens a pseudo-terminal of the same size as the terminal `model`.
Result<Pty> open_pty(int model);

// Sets the size of `pty` to the size of the terminal `model`.
void copy_window_size(int model, int pty);

}  // namespace toprun::output
