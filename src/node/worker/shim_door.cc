#include "node/worker/shim_door.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "node/worker/shim_wire.h"

namespace toprun::worker {

ShimDoor::ShimDoor(std::string path, Fd listening)
    : path_(std::move(path)), listening_(std::move(listening)) {}

Result<ShimDoor> ShimDoor::open(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail("cannot listen at " + path, "the path is too long", "set TMPDIR to a shorter path");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Fd listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listening) return fail_errno("cannot make a socket");
  if (::bind(listening.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listening.get(), 1) != 0) {
    return fail_errno("cannot listen at " + path);
  }
  return ShimDoor(path, std::move(listening));
}

Result<Fd> ShimDoor::admit(std::chrono::milliseconds limit) const {
  if (!process::readable_within(listening_.get(), limit))
    return fail_errno(ETIMEDOUT, "container's shim");
  Fd connection(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection) return fail_errno("cannot accept at " + path_);
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return fail_errno("cannot tell which user connected to " + path_);
  }
  if (peer.uid != ::getuid() && peer.uid != 0) {
    return fail("another user connected to " + path_, fmt::format("user id {}", peer.uid));
  }
  return connection;
}

}  // namespace toprun::worker
