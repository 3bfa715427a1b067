#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/fd.h"

namespace toprun::agent {

// The socket at which an agent waits for the shim of its container. It is open to one only. Its
// file stays: it goes with the folder that was made for it.
class ShimDoor {
 public:
  static Result<ShimDoor> open(const std::string& path);

  int descriptor() const { return listening_.get(); }
  // The first to come, if it is of our user, or root: in a user namespace of its own, or started by
  // a daemon.
  Result<Fd> admit(std::chrono::milliseconds limit) const;

 private:
  ShimDoor(std::string path, Fd listening);

  std::string path_;
  Fd listening_;
};

}  // namespace toprun::agent
