#pragma once

#include <chrono>
#include <string>

#include "base/os/fd.h"
#include "base/text/error.h"

namespace toprun::worker {

// The socket at which an agent waits for the shim of its container. A ShimDoor accepts only one
// connection. The owner of the folder removes the socket file with the folder.
class ShimDoor {
 public:
  static Result<ShimDoor> open(const std::string& path);

  int descriptor() const { return listening_.get(); }
  // Accepts the first connection from a process of our user or of root. (The shim may run in its
  // own user namespace, or a daemon may have started it.)
  Result<Fd> admit(std::chrono::milliseconds limit) const;

 private:
  ShimDoor(std::string path, Fd listening);

  std::string path_;
  Fd listening_;
};

}  // namespace toprun::worker
