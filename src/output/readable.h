#pragma once

#include <functional>
#include <memory>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/error.h"
#include "base/fd.h"

namespace toprun::output {

// Says of pipes, each once after it was armed, that they can be read. A pipe at rest costs nothing,
// however often somebody writes to it; one that Asio itself watches (edge-triggered) would wake us
// at every write.
class Readable : public std::enable_shared_from_this<Readable> {
 public:
  using Ready = std::function<void(std::size_t index)>;

  // `ready` gets the index that the pipe was armed with. It may call anything here.
  static Result<std::shared_ptr<Readable>> create(boost::asio::io_context& io, Ready ready);

  // The descriptor belongs to the caller and is removed before it is closed.
  Result<void> add(int fd);
  void arm(int fd, std::size_t index);
  void remove(int fd);
  void close();  // nothing is said any more

 private:
  Readable(boost::asio::io_context& io, Fd epoll, Ready ready);
  void wait();
  void tell();

  boost::asio::posix::stream_descriptor epoll_;
  Ready ready_;
};

}  // namespace toprun::output
