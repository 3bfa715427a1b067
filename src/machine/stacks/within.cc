#include "machine/stacks/within.h"

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "base/os/pool.h"

namespace toprun::stacks {
namespace {

std::atomic<int> stuck{0};

struct End {
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  bool abandoned = false;
};

}  // namespace

bool ends_within(std::chrono::milliseconds limit, std::function<void()> work) {
  if (limit <= std::chrono::milliseconds(0) || stuck >= most_stuck) return false;
  const auto end = std::make_shared<End>();
  auto thread = quiet_thread([end, work = std::move(work)] {
    work();
    const std::lock_guard lock(end->mutex);
    end->ended = true;
    if (end->abandoned) --stuck;
    end->changed.notify_one();
  });
  if (!thread) return false;
  thread->detach();
  std::unique_lock lock(end->mutex);
  if (end->changed.wait_for(lock, limit, [&] { return end->ended; })) return true;
  end->abandoned = true;
  ++stuck;
  return false;
}

}  // namespace toprun::stacks
