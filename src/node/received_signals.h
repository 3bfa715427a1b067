#pragma once

#include <signal.h>
#include <sys/types.h>

#include <array>
#include <functional>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/fd.h"

namespace toprun::node {

// The signals that this process gets, each with the process that sent it, which Asio's signal_set
// does not tell. One at a time. Its destruction puts the former dispositions back.
class ReceivedSignals {
 public:
  struct Received {
    int signal;
    pid_t sender;  // 0: the kernel, or a process that is not seen from here
  };

  // Called from the event loop.
  ReceivedSignals(boost::asio::io_context& io, std::function<void(Received)> taken);
  ~ReceivedSignals();
  ReceivedSignals(const ReceivedSignals&) = delete;
  ReceivedSignals& operator=(const ReceivedSignals&) = delete;

  void add(int signal);

 private:
  struct Former {
    int signal;
    struct sigaction action;
  };
  void read();

  std::function<void(Received)> taken_;
  std::vector<Former> former_;
  Fd writing_;  // the handler's
  boost::asio::posix::stream_descriptor reading_;
};

}  // namespace toprun::node
