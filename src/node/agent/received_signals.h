#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/os/fd.h"

namespace toprun::agent {

// Receives this process's signals and the sender of each signal. (Asio's signal_set does not report
// senders.) Only one object may exist at a time. The destructor restores the former signal
// handlers.
class ReceivedSignals {
 public:
  struct Received {
    int signal;
    pid_t sender;  // 0: the kernel, or a process that is not visible from here
  };

  // The event loop calls `taken` for each signal that arrives.
  ReceivedSignals(boost::asio::io_context& io, std::function<void(Received)> taken);
  ~ReceivedSignals();
  ReceivedSignals(const ReceivedSignals&) = delete;
  ReceivedSignals& operator=(const ReceivedSignals&) = delete;

  void add(int signal);
  // Calls `taken` at once for the signals that have arrived, before the event loop calls it.
  void take();

 private:
  struct Former {
    int signal;
    struct sigaction action;
  };
  void read();

  std::function<void(Received)> taken_;
  std::vector<Former> former_;
  Fd writing_;  // used by the signal handler
  boost::asio::posix::stream_descriptor reading_;
};

}  // namespace toprun::agent
