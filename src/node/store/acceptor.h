#pragma once

#include <functional>
#include <string>

#include "base/os/fd.h"
#include "base/text/clock.h"

namespace toprun::store {

// Takes connections from a listening socket, a batch at a time, and lives through a shortage of
// descriptors: then it closes those who are waiting, with a spare one, and rests a while. Visitors
// ("toprun/") read `busy` first: a listener that closes without a word may be another program.
class Acceptor {
 public:
  // The listener's options are inherited by the connections: no delay, keep-alive.
  Acceptor(Fd listener, std::string busy);

  int fd() const { return listener_.get(); }
  // Calls `accepted` for each of at most a batch. False if descriptors ran out: the caller should
  // not ask again before rest().
  bool accept_batch(const std::function<void(Fd)>& accepted);
  static constexpr std::chrono::milliseconds rest{100};

 private:
  void shed_batch();

  Fd listener_;
  Fd spare_;
  const std::string busy_;
};

}  // namespace toprun::store
