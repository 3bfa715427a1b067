#include "node/store/acceptor.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "node/store/protocol.h"

namespace toprun::store {
namespace {

// Per turn of the loop, so that a storm of connections does not keep those that are here waiting.
constexpr int batch_connections = 64;

// How much of a reply a connection's socket takes before it can send it. Without this limit, the
// kernel takes 4 MB from a client that does not read, which costs the copy, and memory that no
// limit of the store counts.
constexpr int unsent_bytes = 128 << 10;

Fd open_spare() {
  return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

Fd accept_one(const Fd& listener) {
  return Fd(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

// Errors of accept4(2) that concern only the connection that was to be accepted.
bool connection_failed(int error) {
  return error == EINTR || error == ECONNABORTED || error == EPROTO || error == EPERM ||
         error == ENETDOWN || error == EHOSTDOWN || error == EHOSTUNREACH || error == ENETUNREACH;
}

// What it has said is read, because unread bytes turn a close into a reset, which may lose the
// answer.
void turn_away(const Fd& connection, std::string_view busy) {
  std::array<char, 2'048> said;
  const ssize_t count = ::recv(connection.get(), said.data(), said.size(), MSG_DONTWAIT);
  if (count <= 0) return;
  const std::string_view words(said.data(), static_cast<std::size_t>(count));
  if (!words.starts_with(visitor_opening)) return;
  ::send(connection.get(), busy.data(), busy.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

Acceptor::Acceptor(Fd listener, std::string busy)
    : listener_(std::move(listener)), spare_(open_spare()), busy_(std::move(busy)) {
  const int on = 1;
  ::setsockopt(listener_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(listener_.get(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent_bytes, sizeof unsent_bytes);
  ::setsockopt(listener_.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

bool Acceptor::accept_batch(const std::function<void(Fd)>& accepted) {
  for (int i = 0; i < batch_connections; ++i) {
    Fd connection = accept_one(listener_);
    if (connection) {
      accepted(std::move(connection));
      continue;
    }
    if (connection_failed(errno)) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
    shed_batch();
    return false;
  }
  return true;
}

void Acceptor::shed_batch() {
  for (int i = 0; i < batch_connections; ++i) {
    spare_.reset();
    Fd connection = accept_one(listener_);
    const bool more = static_cast<bool>(connection);
    if (more) turn_away(connection, busy_);
    connection.reset();
    spare_ = open_spare();
    if (!more) return;
  }
}

}  // namespace toprun::store
