#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "base/os/environment.h"
#include "base/os/pool.h"

namespace toprun::publish {

// Time limit for one notice to one command or server of --notify. At the end of a run, all notices
// that are not yet sent have this time together.
inline constexpr std::chrono::seconds notify_limit{10};
inline constexpr std::size_t most_notices = 16;  // pending notices; further notices are dropped

// Sends notices about the run to the targets of --notify: commands (`sh -c`, with the notice on
// stdin) and URLs (a POST request with curl). Sends one notice after the other, on the pool.
class Notifier {
 public:
  Notifier(Pool& pool, std::vector<std::string> targets, Environment environment);

  bool has_targets() const;
  // Queues a notice (JSON) for all targets. Each failure is printed in one line.
  void tell(std::string notice);
  // Waits until all notices have been sent.
  boost::asio::awaitable<void> finish();

 private:
  struct State;
  static void tell_next(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace toprun::publish
