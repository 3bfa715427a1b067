#pragma once

#include <deque>
#include <functional>
#include <utility>

namespace toprun::simulation {

using Do = std::move_only_function<void()>;

// A process that may be stopped for a while (SIGSTOP). Events for a stopped process are delayed.
class Process {
 public:
  template <class What>
  void deliver(What&& what) {
    if (!alive_) return;
    if (!stopped_) return std::forward<What>(what)();
    waiting_.emplace_back(std::forward<What>(what));
  }
  void stop() { stopped_ = true; }
  void go_on();
  void die() { alive_ = false; }
  bool is_alive() const { return alive_; }
  bool is_stopped() const { return stopped_; }

 private:
  bool alive_ = true;
  bool stopped_ = false;
  std::deque<Do> waiting_;
};

}  // namespace toprun::simulation
