#pragma once

#include <memory>
#include <string>

#include "base/os/fd.h"
#include "base/text/error.h"

namespace toprun::spawn {

// A mount namespace in which a path shows something else than for this process; programs are
// started in it. Without the rights of root it comes with a user namespace in which this user has
// his own number, and all other users none.
class View {
 public:
  // There `shown`, a folder or file, is mounted read-only over `path`, which exists. May be called
  // on any thread. Errors: the kernel or the site does not allow it.
  static Result<std::shared_ptr<const View>> make(const std::string& shown,
                                                  const std::string& path);

  // For the child of a fork: enters the namespaces and the same current folder. Async-signal-safe.
  // False: errno says why.
  bool enter() const;

 private:
  View() = default;

  Fd user_;  // null: the same
  Fd mounts_;
  std::string current_;  // folder
};

}  // namespace toprun::spawn
