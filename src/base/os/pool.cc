#include "base/os/pool.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>

#include <boost/asio/post.hpp>

#include "base/text/clock.h"

namespace toprun {

std::optional<std::thread> quiet_thread(std::function<void()> body) {
  sigset_t all;
  sigset_t before;  // a new thread inherits its creator's mask
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::optional<std::thread> started;
  try {
    started.emplace(std::move(body));
  } catch (const std::system_error&) {
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

struct Pool::Shared : std::enable_shared_from_this<Pool::Shared> {
  struct Task {
    std::uint64_t number;
    Work work;
  };

  std::mutex mutex;
  std::condition_variable wake;
  std::deque<Task> queue;
  std::size_t threads = 0;
  std::size_t idle = 0;
  Pool* pool = nullptr;  // null after the pool's destruction

  void serve();
  void do_one(Task task);
  bool is_queued(std::uint64_t number);
  void deliver(std::uint64_t number, std::shared_ptr<void> answer);
};

void Pool::Shared::serve() {
  ::pthread_setname_np(::pthread_self(), "toprun-pool");
  std::unique_lock lock(mutex);
  while (pool != nullptr) {
    if (queue.empty()) {
      ++idle;
      wake.wait(lock);
      --idle;
      continue;
    }
    Task task = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    do_one(std::move(task));
    lock.lock();
  }
}

// The task's own objects are gone before its answer is delivered.
void Pool::Shared::do_one(Task task) {
  std::shared_ptr<void> answer = task.work();
  task.work = {};
  const std::lock_guard lock(mutex);
  if (pool != nullptr) deliver(task.number, std::move(answer));  // else the io_context may be gone
}

bool Pool::Shared::is_queued(std::uint64_t number) {
  const std::lock_guard lock(mutex);
  return std::ranges::find(queue, number, &Task::number) != queue.end();
}

// Null: it has found the queue full.
void Pool::Shared::deliver(std::uint64_t number, std::shared_ptr<void> answer) {
  boost::asio::post(pool->io_, [weak = weak_from_this(), number, answer = std::move(answer)] {
    const auto self = weak.lock();
    if (!self || self->pool == nullptr) return;
    if (!answer) return self->pool->finish(number, std::unexpected(NoAnswer::not_begun));
    self->pool->finish(number, answer.get());
  });
}

std::string Pool::words_for(NoAnswer why, std::chrono::milliseconds limit) {
  if (why == NoAnswer::late) return fmt::format("no answer after {}", duration_text(limit));
  return "not started: all threads for such work wait for other files or programs that hang";
}

Pool::Pool(boost::asio::io_context& io) : Pool(io, Limits{}) {}

Pool::Pool(boost::asio::io_context& io, Limits limits)
    : io_(io), limits_(limits), shared_(std::make_shared<Shared>()) {
  shared_->pool = this;
}

Pool::~Pool() {
  std::deque<Shared::Task> dropped;  // destroyed after the unlock
  const std::lock_guard lock(shared_->mutex);
  shared_->pool = nullptr;
  dropped.swap(shared_->queue);
  shared_->wake.notify_all();
}

void Pool::put(std::chrono::milliseconds limit, Work work, Done done) {
  const std::uint64_t number = ++last_number_;
  Awaited& awaited = awaited_.try_emplace(number, io_, std::move(done)).first->second;
  if (!guard_) guard_.emplace(io_.get_executor());
  if (!queue(number, std::move(work))) return shared_->deliver(number, nullptr);
  awaited.limit.expires_after(limit);
  awaited.limit.async_wait(
      [weak = std::weak_ptr(shared_), number](const boost::system::error_code& cancelled) {
        const auto shared = weak.lock();
        if (!cancelled && shared && shared->pool != nullptr) shared->pool->give_up(number);
      });
}

// False: the queue is full.
bool Pool::queue(std::uint64_t number, Work work) {
  Shared::Task task{number, std::move(work)};
  if (StandIn* const stand_in = StandIn::of_this_thread()) {
    return stand_in->take([weak = std::weak_ptr(shared_), task = std::move(task)]() mutable {
      if (const auto shared = weak.lock()) shared->do_one(std::move(task));
    });
  }
  std::unique_lock lock(shared_->mutex);
  if (shared_->queue.size() >= limits_.waiting + shared_->idle) return false;
  const bool requested = shared_->queue.size() >= shared_->idle;
  if (requested && shared_->threads < limits_.threads) start_thread();
  if (shared_->threads > 0) {
    shared_->queue.push_back(std::move(task));
    lock.unlock();
    shared_->wake.notify_one();
    return true;
  }
  lock.unlock();  // no thread could be started (ulimit -u, -v): do the work here
  boost::asio::post(io_, [weak = std::weak_ptr(shared_), task = std::move(task)]() mutable {
    if (const auto shared = weak.lock()) shared->do_one(std::move(task));
  });
  return true;
}

void Pool::start_thread() {
  auto thread = quiet_thread([shared = shared_] { shared->serve(); });
  if (!thread) return;
  thread->detach();
  ++shared_->threads;
}

void Pool::give_up(std::uint64_t number) {
  finish(number,
         std::unexpected(shared_->is_queued(number) ? NoAnswer::not_begun : NoAnswer::late));
}

void Pool::finish(std::uint64_t number, Answer<void*> answer) {
  auto node = awaited_.extract(number);
  if (awaited_.empty()) guard_.reset();
  if (node) node.mapped().done(answer);  // may destroy this pool
}

}  // namespace toprun
