#pragma once

#include <set>
#include <string>

#include "base/os/fd.h"

namespace toprun::jobs {

// Wakes when something is written in the folders; where it cannot, looking has to do.
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
