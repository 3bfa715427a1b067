#include "base/os/timer.h"

namespace toprun {
namespace {

thread_local StandIn* stand_in = nullptr;

}  // namespace

StandIn* StandIn::of_this_thread() {
  return stand_in;
}

void StandIn::put(StandIn* another) {
  stand_in = another;
}

SteadyTime SteadyClock::now() {
  return stand_in == nullptr ? std::chrono::steady_clock::now() : stand_in->now();
}

Timer::Timer(boost::asio::io_context& io, SteadyTime expiry) : timer_(io) {
  if (stand_in != nullptr) played_ = std::make_shared<Played>(Played{&timer_});
  expires_at(expiry);
}

Timer::~Timer() {
  if (played_) played_->timer = nullptr;
}

void Timer::cancel() {
  timer_.cancel();
}

void Timer::expires_at(SteadyTime expiry) {
  if (!played_) {
    timer_.expires_at(expiry);
    return;
  }
  timer_.expires_at(SteadyTime::max());
  played_->expiry = expiry;
  const std::uint64_t round = ++played_->round;
  if (expiry == SteadyTime::max()) return;
  const auto expire = [weak = std::weak_ptr(played_), round] {
    const auto played = weak.lock();
    if (!played || played->timer == nullptr || played->round != round) return;
    played->expired = round;
    played->timer->cancel();
  };
  // It is its own process's event loop that a timer wakes, which may be standing still.
  stand_in->call_at(expiry, [expire, weak = std::weak_ptr(played_)] {
    const auto played = weak.lock();
    if (played && played->timer != nullptr) {
      boost::asio::post(played->timer->get_executor(), expire);
    }
  });
}

}  // namespace toprun
