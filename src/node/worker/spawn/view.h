#pragma once

#include <memory>
#include <string>

#include "base/os/fd.h"
#include "base/text/error.h"

namespace toprun::spawn {

// A mount namespace in which a path has other contents than for this process. Programs can be
// started in this namespace. Without root privileges, a View also has a user namespace in which
// only this user's id is mapped.
class View {
 public:
  // Mounts `shown`, a folder or file, read-only over `path`, which must exist. May be called on any
  // thread. Errors: the kernel or the site does not allow the mount.
  static Result<std::shared_ptr<const View>> make(const std::string& shown,
                                                  const std::string& path);

  // Enters the namespaces, in the child of a fork. The current folder stays the same.
  // Async-signal-safe. Returns false and sets errno if this fails.
  bool enter() const;

 private:
  View() = default;

  Fd user_;  // not open: the view has no user namespace
  Fd mounts_;
  std::string current_;  // the current folder
};

}  // namespace toprun::spawn
