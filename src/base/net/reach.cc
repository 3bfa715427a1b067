#include "base/net/reach.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/text/clock.h"

namespace toprun::hosts {
namespace {

int error_of(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

bool has_answered(const pollfd& connection) {
  if (connection.revents == 0) return false;
  const int error = error_of(connection.fd);
  return error == 0 || error == ECONNREFUSED;
}

}  // namespace

Fd begin_to_connect(const Address& address, int port) {
  const sockaddr_storage target = address.with_port(port);
  Fd socket(::socket(target.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return {};
  const int done =
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&target), address.length());
  return done == 0 || errno == EINPROGRESS ? std::move(socket) : Fd();
}

int connection_error(const Fd& socket) {
  return error_of(socket.get());
}

bool answers(std::span<const Address> addresses, int port, std::chrono::milliseconds limit) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + limit;
  std::vector<Fd> sockets;
  std::vector<pollfd> waiting;
  for (const Address& address : addresses) {
    Fd socket = begin_to_connect(address, port);
    if (!socket && errno == ECONNREFUSED) return true;
    if (!socket) continue;
    waiting.push_back({socket.get(), POLLOUT, 0});
    sockets.push_back(std::move(socket));
  }
  while (!waiting.empty()) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const int ready = ::poll(waiting.data(), waiting.size(),
                             static_cast<int>(std::max<std::int64_t>(0, left.count())));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    if (std::ranges::any_of(waiting, has_answered)) return true;
    std::erase_if(waiting, [](const pollfd& one) { return one.revents != 0; });
  }
  return false;
}

}  // namespace toprun::hosts
