#pragma once

#include <deque>
#include <optional>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "base/os/timer.h"
#include "base/text/clock.h"

namespace toprun::agent {

// A queue of events of all kinds for one reader, such as Member. So the reader has to wait only for
// this queue. All calls are made on the io_context's thread.
template <class Event>
class Inbox {
 public:
  explicit Inbox(boost::asio::io_context& io) : arrived_(io) {}

  void push(Event event) {
    events_.push_back(std::move(event));
    arrived_.cancel();
  }

  // Waits for the next event and returns it; returns nullopt once `deadline` has passed.
  boost::asio::awaitable<std::optional<Event>> next(std::optional<SteadyTime> deadline = {}) {
    while (events_.empty()) {
      if (deadline && SteadyClock::now() >= *deadline) co_return std::nullopt;
      arrived_.expires_at(deadline.value_or(SteadyTime::max()));
      co_await arrived_.async_wait(use_nothrow_awaitable);
    }
    std::optional<Event> event(std::move(events_.front()));
    events_.pop_front();
    co_return event;
  }

 private:
  Timer arrived_;
  std::deque<Event> events_;
};

}  // namespace toprun::agent
