#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/os/timer.h"

namespace toprun {

// Starts a thread with all signals blocked, because the event loop handles signals. nullopt if the
// system cannot start a thread (ulimit -u, -v).
std::optional<std::thread> quiet_thread(std::function<void()> body);

// Runs blocking work (files, DNS, programs) on a few threads, so that the event loop never blocks.
//
// `work` runs on one of the pool's threads. `work` must own everything that it uses, because `work`
// may still hang in the kernel after the pool and the run have ended. The pool passes the result of
// `work` to `done` on the io_context's thread, the only thread that may call the pool. An exception
// in `work` ends the process. If the system cannot start a thread, `work` runs on the io_context's
// thread.
//
// The states of `work`:
//   queued --a thread is free--> working --`work` returns--> answered
//   queued, working --the limit passes--> given up (`work` continues, but its answer is dropped)
class Pool {
 public:
  // Why there is no answer.
  enum class NoAnswer : std::uint8_t {
    late,       // the work takes longer than the limit
    not_begun,  // other work occupied all threads until the limit, or filled the queue
  };
  template <class T>
  using Answer = std::expected<T, NoAnswer>;
  // Returns a message. For `late`, it is "no answer after 20 s"; for `not_begun`, it says that
  // other work in the pool hangs.
  static std::string words_for(NoAnswer why, std::chrono::milliseconds limit);

  struct Limits {
    std::size_t threads = 4;    // started on demand; a thread that hangs is not replaced
    std::size_t waiting = 256;  // tasks in the queue
  };

  // The io_context must outlive the pool.
  explicit Pool(boost::asio::io_context& io);
  Pool(boost::asio::io_context& io, Limits limits);
  // The destructor delivers no more answers, drops queued work, and does not wait for running work.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  boost::asio::io_context& io() const { return io_; }

  // Calls `work` on a thread, then `done` with its answer. If there is no answer within `limit`,
  // `done` gets the reason. `done` is called exactly once, and not before run() returns.
  template <class T>
  void run(std::chrono::milliseconds limit, std::function<T()> work,
           std::function<void(Answer<T>)> done) {
    put(
        limit,
        [work = std::move(work)]() -> std::shared_ptr<void> { return std::make_shared<T>(work()); },
        [done = std::move(done)](Answer<void*> answer) {
          if (!answer) return done(std::unexpected(answer.error()));
          done(std::move(*static_cast<T*>(*answer)));
        });
  }

  // Like run(), for a coroutine. `work` must be a named object, because g++ 12 destroys temporaries
  // in a co_await twice.
  template <class T>
  boost::asio::awaitable<Answer<T>> answer(std::function<T()> work,
                                           std::chrono::milliseconds limit) {
    const auto got = std::make_shared<std::optional<Answer<T>>>();
    const auto over = std::make_shared<Timer>(io_, SteadyTime::max());
    run<T>(limit, std::move(work), [got, over](Answer<T> value) {
      got->emplace(std::move(value));
      over->expires_at(SteadyTime::min());
    });
    co_await over->async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    co_return *std::move(*got);
  }

 private:
  using Work = std::function<std::shared_ptr<void>()>;
  using Done = std::function<void(Answer<void*>)>;
  struct Shared;
  struct Awaited {
    Awaited(boost::asio::io_context& io, Done what) : done(std::move(what)), limit(io) {}
    Done done;
    Timer limit;
  };

  void put(std::chrono::milliseconds limit, Work work, Done done);
  bool queue(std::uint64_t number, Work work);
  void start_thread();
  void give_up(std::uint64_t number);
  void finish(std::uint64_t number, Answer<void*> answer);

  boost::asio::io_context& io_;
  const Limits limits_;
  std::shared_ptr<Shared> shared_;  // shared with the threads
  std::map<std::uint64_t, Awaited> awaited_;
  std::uint64_t last_number_ = 0;
  // Keeps the io_context running while a thread works and the io_context has nothing else to do.
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> guard_;
};

}  // namespace toprun
