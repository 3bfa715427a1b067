#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/os/timer.h"

namespace toprun::link {

// If the attempt at a better address takes longer, the attempt at the next address starts in
// parallel (RFC 8305 section 5).
inline constexpr std::chrono::milliseconds attempt_delay{250};

// Runs the attempts 0 … count-1 in order. Each attempt starts when the previous attempt has failed
// or `attempt_delay` has passed. The first success is the result. Other attempts that still run are
// not stopped, so each attempt needs its own time limit. Nullopt: no attempt succeeded.
template <class T>
boost::asio::awaitable<std::optional<std::pair<std::size_t, T>>> race(
    boost::asio::io_context& io, std::size_t count,
    std::function<boost::asio::awaitable<std::optional<T>>(std::size_t)> attempt) {
  struct State {
    explicit State(boost::asio::io_context& context) : changed(context) {}
    boost::asio::steady_timer changed;
    std::size_t running = 0;
    bool failed = false;
    std::optional<std::pair<std::size_t, T>> winner;
  };
  const auto state = std::make_shared<State>(io);
  const auto one = [](std::shared_ptr<State> shared, std::size_t index,
                      auto task) -> boost::asio::awaitable<void> {
    auto result = co_await task(index);
    --shared->running;
    shared->failed = !result;
    if (result && !shared->winner) shared->winner.emplace(index, std::move(*result));
    shared->changed.cancel();
  };
  for (std::size_t i = 0; i < count && !state->winner; ++i) {
    ++state->running;
    state->failed = false;
    boost::asio::co_spawn(io, one(state, i, attempt), boost::asio::detached);
    state->changed.expires_after(attempt_delay);
    co_await state->changed.async_wait(use_nothrow_awaitable);
  }
  while (!state->winner && state->running > 0) {
    state->changed.expires_at(std::chrono::steady_clock::time_point::max());
    co_await state->changed.async_wait(use_nothrow_awaitable);
  }
  co_return std::move(state->winner);
}

}  // namespace toprun::link
