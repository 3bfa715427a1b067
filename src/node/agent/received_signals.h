#pragma once

#include <signal.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/os/fd.h"
#include "base/process/impatience.h"
#include "base/text/clock.h"
#include "node/plan/options.h"

namespace toprun::agent {

// Whether the agent only forwards this signal to its ranks and the run continues. Only ranks that
// have a handler for the signal get it.
inline bool is_notice(int signal, const plan::Options& options) {
  if (signal != SIGUSR1 && signal != SIGUSR2) return false;
  const std::vector<int>& ending = options.signals_to_handle.value;
  return std::ranges::find(ending, signal) == ending.end();
}

// Whether this signal asks the job to add the waiting nodes.
inline bool asks_to_grow(int signal, const plan::Options& options) {
  const std::vector<int>& ending = options.signals_to_handle.value;
  return signal == run::grow_signal && std::ranges::find(ending, signal) == ending.end();
}

// Decides which termination signals an agent treats as requests to end the run. The first signal
// counts, and so do repeated signals from an impatient user. Copies do not count, because one
// signal can reach an agent in three ways (Way). The time between repeats is measured for each way
// separately, so that a copy which the keeper or the launcher delivers late does not count as a
// repeat. Pure.
class EndSignals {
 public:
  // How a signal reached this process: it was sent directly, or the keeper or the launcher
  // forwarded it.
  enum class Way { itself, keeper, launcher };

  // True if the signal counts. False: the signal is a copy of one that has counted already.
  bool count(Way way, SteadyTime now) {
    const auto here = ways_[static_cast<std::size_t>(way)].arrived(now);
    const bool any_came = std::exchange(any_came_, true);
    return !any_came || here == process::Impatience::Signal::repeat;
  }

 private:
  std::array<process::Impatience, 3> ways_;
  bool any_came_ = false;
};

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
  // Calls `taken` now for all signals that have arrived, without waiting for the event loop.
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
