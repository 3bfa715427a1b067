#pragma once

#include <string>
#include <string_view>

#include "base/os/fd.h"
#include "base/text/error.h"

namespace toprun::stage {

// Where a tree lies: entries of its manifest are opened below a folder that is open, and no link on
// the way is followed.
class Place {
 public:
  Place() = default;
  // The tree is `name` in `folder`, for which `path` stands in errors.
  Place(Fd folder, std::string name, std::string path)
      : folder_(std::move(folder)), name_(std::move(name)), path_(std::move(path)) {}

  // Opens a path of the manifest (empty: the tree itself). If it is not open, errno says why.
  Fd open(const std::string& path, int flags, unsigned mode = 0) const;
  // For calls that take a folder and a path.
  int folder() const { return folder_.get(); }
  std::string below(const std::string& path) const {
    return path.empty() ? name_ : name_ + "/" + path;
  }
  // For messages.
  std::string text(const std::string& path) const {
    return path.empty() ? path_ : path_ + "/" + path;
  }

 private:
  Fd folder_;
  std::string name_, path_;
};

}  // namespace toprun::stage
