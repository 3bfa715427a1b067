#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace toprun {

// A few threads for what may block (files, DNS, programs), so that the event loop never does.
//
// `work` runs on one of them and must own whatever it touches: it may still be stuck in the kernel
// when the pool, and with it the run, is gone. Its answer comes back on the io_context's thread,
// which is the only one that may call the pool. An exception in `work` ends the process.
// Where the system gives no thread, `work` runs on the io_context's after all.
class Pool {
 public:
  struct Limits {
    std::size_t threads = 4;    // started as they are needed; one that hangs is one fewer
    std::size_t waiting = 256;  // beyond those that are at work
  };

  // The io_context must outlive the pool.
  explicit Pool(boost::asio::io_context& io);
  Pool(boost::asio::io_context& io, Limits limits);
  // No more answers. What has not begun never does; what has is abandoned and holds nobody up.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  boost::asio::io_context& io() const { return io_; }

  // Calls `work` on a thread, then `done` with its answer. False if too many wait already: neither
  // is called then.
  template <class T>
  bool run(std::function<T()> work, std::function<void(T)> done) {
    return put(
        [work = std::move(work)]() -> std::shared_ptr<void> { return std::make_shared<T>(work()); },
        [done = std::move(done)](void* answer) { done(std::move(*static_cast<T*>(answer))); });
  }

  // The answer of `work`; none if it is not there after `limit`, or too many wait already. `work`
  // has to be a named object: g++ 12 destroys temporaries in a co_await twice.
  template <class T>
  boost::asio::awaitable<std::optional<T>> answer(std::function<T()> work,
                                                  std::chrono::milliseconds limit) {
    const auto got = std::make_shared<std::optional<T>>();
    const auto timer = std::make_shared<boost::asio::steady_timer>(io_, limit);
    const bool taken = run<T>(std::move(work), [got, timer](T value) {
      got->emplace(std::move(value));
      timer->expires_at(std::chrono::steady_clock::time_point::min());
    });
    if (!taken) co_return std::nullopt;
    co_await timer->async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    co_return std::move(*got);
  }

 private:
  using Work = std::function<std::shared_ptr<void>()>;
  using Done = std::function<void(void*)>;
  struct Shared;

  bool put(Work work, Done done);
  void start_thread();
  void finish(std::uint64_t number, void* answer);

  boost::asio::io_context& io_;
  const Limits limits_;
  std::shared_ptr<Shared> shared_;  // with the threads
  std::map<std::uint64_t, Done> awaited_;
  std::uint64_t last_number_ = 0;
  // While a thread is all that is at work, the io_context must not run out of it.
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> guard_;
};

}  // namespace toprun
