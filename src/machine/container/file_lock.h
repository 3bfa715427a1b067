#pragma once

#include <sys/file.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>

#include "base/os/fd.h"
#include "base/text/clock.h"
#include "base/text/error.h"

namespace toprun::container {

// A lock between processes and nodes that share a file, held as long as this object exists. The
// lock uses flock(2). If the file system does not support flock(2) (Lustre without -o flock, NFS
// without a lock server), the lock uses a second file, which only one process can create. The
// holder touches the second file regularly. If this file has not been touched for
// `abandoned_after`, its holder was killed, and another process removes the file.
class FileLock {
 public:
  using Flock = int (*)(int fd, int operation);

  explicit FileLock(std::filesystem::path file, Flock flock = ::flock,
                    std::chrono::milliseconds abandoned_after = std::chrono::minutes(1));
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  // Tries to get the lock and returns whether this object holds it; never waits.
  Result<bool> try_lock();

 private:
  Result<bool> try_create();
  bool was_left();
  void keep_touching();

  const std::filesystem::path file_;
  const std::filesystem::path created_;
  const Flock flock_;
  const std::chrono::milliseconds abandoned_after_;
  Fd locked_;
  // The status of another holder's file, and when this process first saw that status. So the clocks
  // of two nodes are never compared.
  struct stat others_ {};
  std::optional<SteadyTime> seen_since_;
  std::optional<std::jthread> toucher_;  // runs while this object owns `created_`
};

}  // namespace toprun::container
