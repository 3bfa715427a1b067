#include "base/pool.h"

#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include <boost/asio/post.hpp>

#include "base/quiet_thread.h"

namespace toprun {

struct Pool::Shared {
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

  static void serve(const std::shared_ptr<Shared>& shared);
};

void Pool::Shared::serve(const std::shared_ptr<Shared>& shared) {
  ::pthread_setname_np(::pthread_self(), "toprun-pool");
  std::unique_lock lock(shared->mutex);
  while (shared->pool != nullptr) {
    if (shared->queue.empty()) {
      ++shared->idle;
      shared->wake.wait(lock);
      --shared->idle;
      continue;
    }
    Task task = std::move(shared->queue.front());
    shared->queue.pop_front();
    lock.unlock();
    std::shared_ptr<void> answer = task.work();
    task.work = {};
    lock.lock();
    if (shared->pool == nullptr) return;  // the io_context may be gone too
    boost::asio::post(shared->pool->io_, [weak = std::weak_ptr(shared), number = task.number,
                                          answer = std::move(answer)] {
      const auto self = weak.lock();
      if (self && self->pool != nullptr) self->pool->finish(number, answer.get());
    });
  }
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

bool Pool::put(Work work, Done done) {
  bool taken = false;
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->queue.size() >= limits_.waiting + shared_->idle) return false;
    const bool wanted = shared_->queue.size() >= shared_->idle;
    if (wanted && shared_->threads < limits_.threads) start_thread();
    taken = shared_->threads > 0;
    if (taken) shared_->queue.push_back({++last_number_, std::move(work)});
  }
  if (!taken) {  // no thread could be started (ulimit -u, -v): do the work here
    boost::asio::post(io_,
                      [work = std::move(work), done = std::move(done)] { done(work().get()); });
    return true;
  }
  shared_->wake.notify_one();
  awaited_.emplace(last_number_, std::move(done));
  if (!guard_) guard_.emplace(io_.get_executor());
  return true;
}

void Pool::start_thread() {
  auto thread = quiet_thread([shared = shared_] { Shared::serve(shared); });
  if (!thread) return;
  thread->detach();
  ++shared_->threads;
}

void Pool::finish(std::uint64_t number, void* answer) {
  auto node = awaited_.extract(number);
  if (awaited_.empty()) guard_.reset();
  if (node) node.mapped()(answer);  // may destroy this pool
}

}  // namespace toprun
