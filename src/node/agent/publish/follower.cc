#include "node/agent/publish/follower.h"

#include <algorithm>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace toprun::publish {
namespace asio = boost::asio;

namespace {

// Of many events in a row not each is shown: so long after one picture the next is written at the
// earliest. A tenth of the interval, since the more ranks there are the longer writing takes.
constexpr std::chrono::milliseconds shortest_rest{100};
constexpr int rests_per_interval = 10;

}  // namespace

Follower::Follower(asio::io_context& io, JobPicture& picture)
    : picture_(picture.joined_by(*this)), pause_(io) {}

Follower::~Follower() {
  if (*picture_ != nullptr) (*picture_)->left_by(*this);
}

void Follower::wake() {
  has_moved_ = true;
  pause_.cancel();
}

asio::awaitable<std::optional<JobPicture::Parts>> Follower::next() {
  if (shown_ && *picture_ != nullptr) {
    const auto interval = (*picture_)->interval();
    co_await rest_until(*shown_ + std::max(shortest_rest, interval / rests_per_interval), false);
    co_await rest_until(*shown_ + interval, true);
  }
  if (*picture_ == nullptr) co_return std::nullopt;
  has_moved_ = false;
  auto parts = co_await (*picture_)->parts();
  shown_ = SteadyClock::now();
  is_over_ = parts && parts->is_last;
  co_return parts;
}

// Or until the run's end.
asio::awaitable<void> Follower::rest_until(SteadyTime end, bool or_event) {
  while (*picture_ != nullptr && !(*picture_)->is_over() && !(or_event && has_moved_) &&
         SteadyClock::now() < end) {
    pause_.expires_at(end);
    co_await pause_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

}  // namespace toprun::publish
