#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "base/os/pool.h"

namespace toprun::stage {

// The maximum number of threads that read at the same time. A file server answers many requests
// faster in parallel than one after another.
inline constexpr std::size_t most_threads_at_once = 8;

// Calls body(i) for each i below `count` on several threads and waits for all of them. If the
// system cannot start a thread, the calls run on this thread.
inline void in_parallel(std::size_t count, const std::function<void(std::size_t)>& body) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) body(i);
  };
  std::vector<std::thread> threads;
  while (threads.size() + 1 < std::min(most_threads_at_once, count)) {
    auto thread = quiet_thread(work);
    if (!thread) break;
    threads.push_back(std::move(*thread));
  }
  work();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace toprun::stage
