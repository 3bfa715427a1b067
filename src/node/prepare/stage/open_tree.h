#pragma once

#include <string>

#include "base/os/fd.h"
#include "base/text/error.h"

namespace toprun::stage {

// The location of a folder or file. Entries of its manifest are opened relative to an open folder,
// and links on the way are not followed.
class OpenTree {
 public:
  OpenTree() = default;
  // The location is `name` in `folder`. `path` is used in errors.
  OpenTree(Fd folder, std::string name, std::string path)
      : folder_(std::move(folder)), name_(std::move(name)), path_(std::move(path)) {}

  // Opens a path of the manifest (empty: the location itself). On failure, the result is not open
  // and errno is set.
  Fd open(const std::string& path, int flags, unsigned mode = 0) const;
  // The descriptor of the folder, for system calls such as openat() with below().
  int folder() const { return folder_.get(); }
  std::string below(const std::string& path) const {
    return path.empty() ? name_ : name_ + "/" + path;
  }
  // The whole path, for messages.
  std::string text(const std::string& path) const {
    return path.empty() ? path_ : path_ + "/" + path;
  }

 private:
  Fd folder_;
  std::string name_, path_;
};

}  // namespace toprun::stage
