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

// A lock among processes and nodes that share a file, held as long as the object lives: flock(2),
// or, where the file system has none (Lustre without -o flock, NFS without a lock server), a second
// file that only one of them can create. Its holder touches that file again and again; one that
// its holder has not touched for `abandoned_after` was left by a holder that was killed, and is
// removed.
class FileLock {
 public:
  using Flock = int (*)(int fd, int operation);

  explicit FileLock(std::filesystem::path file, Flock flock = ::flock,
                    std::chrono::milliseconds abandoned_after = std::chrono::minutes(1));
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  // Whether it is held; never waits.
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
  // Another's file as it was seen since then: the nodes' clocks are not compared.
  struct stat others_ {};
  std::optional<SteadyTime> seen_since_;
  std::optional<std::jthread> toucher_;  // while `created_` is ours
};

}  // namespace toprun::container
