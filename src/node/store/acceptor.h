#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/os/fd.h"

namespace toprun::store {

// Accepts connections from a listening socket in batches. If the process has no free descriptors,
// uses a spare descriptor to accept and close the pending connections, and then pauses. To a
// connection that begins with "toprun/" (a visitor: another agent of toprun), the acceptor sends
// `busy` before it closes the connection. Without this reply, the visitor could assume that another
// program owns the port.
class Acceptor {
 public:
  // Connections inherit the listener's options: no delay, keep-alive, few unsent bytes.
  Acceptor(Fd listener, std::string busy);

  int fd() const { return listener_.get(); }
  // Accepts at most one batch and calls `accepted` for each connection. False if descriptors ran
  // out; the caller must then wait for rest() before the next call.
  bool accept_batch(const std::function<void(Fd)>& accepted);
  static constexpr std::chrono::milliseconds rest{100};

 private:
  void shed_batch();

  Fd listener_;
  Fd spare_;
  const std::string busy_;
};

}  // namespace toprun::store
