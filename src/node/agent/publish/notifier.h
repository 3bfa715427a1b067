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

// How long a command or a server of --notify may take; the end of a run waits no longer for all.
inline constexpr std::chrono::seconds notify_limit{10};
inline constexpr std::size_t most_notices = 16;  // that wait; further ones are dropped

// Tells --notify's commands (`sh -c`, the notice on stdin) and URLs (POST by curl) of the run, one
// notice after the other, on the pool.
class Notifier {
 public:
  Notifier(Pool& pool, std::vector<std::string> targets, Environment environment);

  bool has_targets() const;
  // `notice`: JSON. What goes wrong is said in one line.
  void tell(std::string notice);
  // Waits until all have been sent.
  boost::asio::awaitable<void> finish();

 private:
  struct State;
  static void tell_next(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace toprun::publish
