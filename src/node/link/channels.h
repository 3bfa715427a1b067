#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/os/read_buffer.h"
#include "run/model/messages.h"

namespace toprun::link {

// Returns the two ends of a link within one process, for the root and for the agent on the root's
// node.
std::pair<std::shared_ptr<model::Link>, std::shared_ptr<model::Link>> local_link(
    boost::asio::io_context& io);

class Channel;

// The parts that all channels of an io_context share: one epoll descriptor that reports which
// sockets are ready, one timer, and one point in each event-loop iteration at which all channels
// write their queued data. With thousands of links, one coroutine, one operation and one timer per
// link would cost more than the messages.
class Channels : public boost::asio::execution_context::service {
 public:
  static inline boost::asio::execution_context::id id;
  static Channels& of(boost::asio::io_context& io) {
    return boost::asio::use_service<Channels>(io);
  }
  explicit Channels(boost::asio::io_context& io);

  using Number = std::uint64_t;
  // Watches a socket for the epoll events `events`, level-triggered. Calls the channel's ready()
  // for events, and its pass() at least twice per `beat`. Keeps the channel alive until remove().
  Number add(std::shared_ptr<Channel> channel, int fd, std::uint32_t events,
             std::chrono::milliseconds beat);
  void change(Number number, int fd, std::uint32_t events);
  // Call remove() before the channel's socket is closed. Otherwise epoll would continue to report
  // the socket if a newly forked process still holds it.
  void remove(Number number, int fd);
  // Calls the channel's flush() once the event loop has run the handlers that are due now.
  void write_soon(std::shared_ptr<Channel> channel);

  boost::asio::io_context& io() { return io_; }
  // Buffers that all channels share: a channel may use them only within one call, for the bytes
  // that it reads and decrypts.
  ReadBuffer& received() { return received_; }
  std::string& plaintext() { return plaintext_; }

 private:
  void shutdown() override;
  void wait();
  void serve();
  void write();
  void pass_later();
  void pass();

  boost::asio::io_context& io_;
  boost::asio::posix::stream_descriptor epoll_;
  boost::asio::steady_timer timer_;
  bool waits_ = false;  // a wait on epoll_ is pending
  std::chrono::milliseconds interval_{std::chrono::milliseconds::max()};
  std::chrono::steady_clock::time_point next_pass_;
  // The key is a number, because an event may be reported for a channel that was just closed.
  std::unordered_map<Number, std::shared_ptr<Channel>> watched_;
  Number last_number_ = 0;
  std::vector<std::shared_ptr<Channel>> to_write_;
  ReadBuffer received_;
  std::string plaintext_;
};

}  // namespace toprun::link
