#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/text/clock.h"

namespace toprun {

// A completion token with which an awaited Asio operation does not throw. Instead, the operation
// returns its error code, followed by its results.
inline constexpr auto use_nothrow_awaitable = boost::asio::as_tuple(boost::asio::use_awaitable);

// Replaces the machine's clock and threads in a simulation. So a simulation never waits, and every
// run with the same seed gives the same result.
class StandIn {
 public:
  virtual ~StandIn() = default;
  virtual SteadyTime now() const = 0;
  virtual void call_at(SteadyTime time, std::function<void()> action) = 0;
  // Replaces a pool's thread: calls `task` later on the simulation's thread, or never. False: the
  // pool's queue is full.
  virtual bool take(std::function<void()> task) = 0;

  // Returns the calling thread's StandIn; null outside of a simulation.
  static StandIn* of_this_thread();
  // Sets the calling thread's StandIn; null: no simulation.
  static void put(StandIn* stand_in);
};

// The machine's steady clock or, in a simulation, the clock of the StandIn. All code that drives a
// run uses SteadyClock for timeouts.
struct SteadyClock {
  static SteadyTime now();
};

// A timer based on SteadyClock, used like Asio's steady_timer.
class Timer {
 public:
  explicit Timer(boost::asio::io_context& io) : Timer(io, SteadyTime()) {}
  Timer(boost::asio::io_context& io, SteadyTime expiry);
  Timer(boost::asio::io_context& io, SteadyTime::duration after)
      : Timer(io, SteadyClock::now() + after) {}
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  SteadyTime expiry() const { return played_ ? played_->expiry : timer_.expiry(); }
  // expires_at() and expires_after() end pending waits with operation_aborted.
  void expires_at(SteadyTime expiry);
  void expires_after(SteadyTime::duration after) { expires_at(SteadyClock::now() + after); }
  void cancel();

  template <class Token>
  auto async_wait(Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code)>(
        [this](auto handler) { this->wait(std::move(handler)); }, token);
  }

 private:
  // In a simulation, the Asio timer never expires. The Asio timer only stores the pending waits
  // until the StandIn ends them.
  struct Played {
    boost::asio::steady_timer* timer;  // null: the timer is gone
    SteadyTime expiry{};
    std::uint64_t round = 0;    // incremented each time an expiry is set
    std::uint64_t expired = 0;  // the last round that has expired
  };

  template <class Handler>
  void wait(Handler handler) {
    if (!played_) return timer_.async_wait(std::move(handler));
    const auto executor = boost::asio::get_associated_executor(handler, timer_.get_executor());
    auto woken = [played = played_, round = played_->round,
                  handler = std::move(handler)](const boost::system::error_code& error) mutable {
      const bool has_expired = played->expired == round;
      std::move(handler)(has_expired ? boost::system::error_code() : error);
    };
    if (played_->expired == played_->round) {
      return boost::asio::post(executor, [woken = std::move(woken)]() mutable { woken({}); });
    }
    timer_.async_wait(boost::asio::bind_executor(executor, std::move(woken)));
  }

  boost::asio::steady_timer timer_;
  std::shared_ptr<Played> played_;  // null outside of a simulation
};

}  // namespace toprun
