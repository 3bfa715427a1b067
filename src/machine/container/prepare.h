#pragma once

#include <sys/file.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/os/fd.h"
#include "base/text/clock.h"
#include "base/text/error.h"
#include "machine/container/runtimes.h"

namespace toprun::container {

// A lock between processes and nodes that share a file. Once try_lock() has taken the lock, it is
// held as long as this object exists. The lock uses flock(2). If the file system does not support
// flock(2) (Lustre without -o flock, NFS without a lock server), the lock uses a second file, which
// only one process can create. The holder touches the second file regularly. If this file has not
// been touched for `abandoned_after`, its holder was killed, and another process removes the file.
class FileLock {
 public:
  using Flock = int (*)(int fd, int operation);

  explicit FileLock(std::filesystem::path file, Flock flock = ::flock,
                    std::chrono::milliseconds abandoned_after = std::chrono::minutes(1));
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  // Tries to get the lock; never waits. True: this object now holds the lock.
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
  // The status of another process's lock file, and when this process first saw it. How long that
  // file stays untouched is measured only with this node's clock, so the clocks of two nodes are
  // never compared.
  struct stat others_ {};
  std::optional<SteadyTime> seen_since_;
  std::optional<std::jthread> toucher_;  // runs while this object owns `created_`
};

inline constexpr std::chrono::minutes creation_limit{60};  // long enough for an image of 20 GB over
                                                           // a slow connection
inline constexpr std::chrono::milliseconds lock_interval{100};  // between two attempts

// Makes a runtime's product (an image file or a container), unless the product already exists. The
// runtime needs the product before it starts the container (Runtime::product). If several processes
// or nodes share the product's folder, one of them makes the product and the others wait. Each
// process uses a lock in the product's folder and holds it as long as this object exists. Another
// file in that folder records the image from which the product was made. If this file is missing,
// toprun assumes that the user made the product.
//
// try_begin() decides what to do:
//   try_begin() --another process makes it--> wait, try again
//               --it does not exist--> make: run all of commands(), then completed()
//               --it exists, or nothing has to be made--> ready
class Preparation {
 public:
  enum class State { ready, wait, make };

  Preparation(const Runtime& runtime, const Run& run, const Node& node,
              const Environment& environment);

  // Determines the product's state and takes the lock, without waiting. Errors: the product was
  // made from another image, or from a file that has changed since; the product's folder cannot be
  // created; another user could have created the product.
  Result<State> try_begin();
  std::vector<Command> commands() const { return runtime_.creation(run_, node_, environment_); }
  // Explains a command's failure from its output, in the user's terms if the cause is known.
  Error failure(const Command& command, int code, std::string_view its_words) const;
  Result<void> completed();

  // Returns "n1: container NAME" or "n1: container image IMAGE", for messages.
  std::string what() const;
  const std::filesystem::path& path() const { return path_; }
  // Returns the product's path and the variable that determined it:
  // "/scratch/ada/toprun/containers/NAME (SCRATCH)".
  std::string where() const;

 private:
  std::filesystem::path beside(std::string_view ending) const;
  Result<bool> try_lock();
  Result<void> check_places() const;
  Result<void> check_record() const;
  void make_targets() const;

  const Runtime& runtime_;
  const Run& run_;
  const Node& node_;
  const Environment& environment_;
  std::optional<SourcedPath> product_;  // unset: nothing has to be made
  std::filesystem::path path_;          // the path in `product_`
  std::unique_ptr<FileLock> lock_;
};

// Carries out a whole Preparation in one call, for callers that may block. The call waits at most
// creation_limit for the lock, and at most creation_limit for each command. `say` gets a line when
// the call begins to make the product or to wait.
Result<void> prepare(const Runtime& runtime, const Run& run, const Node& node,
                     const Environment& environment,
                     const std::function<void(const std::string&)>& say);

// Returns the size and modification time of an image file, which identify its version; empty for a
// reference.
std::string fingerprint(std::string_view image);

}  // namespace toprun::container
