#pragma once

#include <set>
#include <string>

#include "base/os/fd.h"

namespace toprun::jobs {

// Wakes when a file in the folders is written. Where this is not supported, the caller has to poll.
class FolderWatch {
 public:
  FolderWatch();

  int fd() const { return fd_.get(); }
  void add(const std::string& folder);
  void forget_news();

 private:
  Fd fd_;
  std::set<std::string> watched_;
};

}  // namespace toprun::jobs
