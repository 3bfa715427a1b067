#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/os/pool.h"
#include "base/text/error.h"
#include "node/prepare/stage/open_tree.h"

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

// A folder or file that is staged, and its location on the root's node.
struct Source {
  Stamped stamped;
  OpenTree tree;
  std::uint64_t hashed_bytes = 0;  // bytes that were hashed; the hashes of all other bytes were
                                   // known
};

// Reads and hashes a folder or file, whose path must not contain links. Sockets, pipes and devices
// are left out. `known`: the result of an earlier scan; files that have not changed since this scan
// are not read again. Errors: a file cannot be read, or changes during the scan.
Result<Source> scan(const std::string& path, const Stamped* known);

// Whether the file still matches its entry in the manifest, judged by its size and time.
bool is_as_scanned(int fd, const Entry& entry);

}  // namespace toprun::stage
