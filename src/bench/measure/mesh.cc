#include "bench/measure/mesh.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace toprun::measure {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t token_bytes = 32;
constexpr milliseconds greeting_limit{2000};

milliseconds until(steady_clock::time_point deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
  return std::max(left, milliseconds(0));
}

// False: not within the limit.
Result<bool> ready(int socket, short events, milliseconds limit) {
  const auto deadline = steady_clock::now() + limit;
  for (;;) {
    pollfd requested{socket, events, 0};
    const int count = ::poll(&requested, 1, static_cast<int>(until(deadline).count()));
    if (count >= 0) return count > 0;
    if (errno != EINTR) return fail_errno("poll");
  }
}

void send_at_once(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// Between ranks of one host there is no path to share: BBR, where it is the system's, sets a timer
// for each packet, and a longer queue only pushes bytes out of the processor's cache.
void prepare_for_own_host(int socket) {
  constexpr std::string_view reno = "reno";  // every kernel has it, for every user
  ::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, reno.data(), reno.size());
  const int bytes = 512 << 10;
  ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

}  // namespace

struct Mesh::Greeting {
  std::uint64_t rank = 0;
  std::uint64_t stripe = 0;
  std::array<char, token_bytes> token{};
};

std::string Peer::text() const {
  return fmt::format("rank {} on {}", rank, host);
}

Mesh::Mesh(std::size_t rank, std::string token, Fd listener)
    : rank_(rank), token_(std::move(token)), listener_(std::move(listener)) {
  token_.resize(token_bytes);
}

Result<Mesh> Mesh::open(std::size_t rank, std::string token) {
  auto listener = hosts::listen_on(0);
  if (!listener) return std::unexpected(listener.error().error);
  return Mesh(rank, std::move(token), *std::move(listener));
}

int Mesh::port() const {
  return hosts::port_of(listener_);
}

int Mesh::socket(std::size_t rank, std::size_t stripe) const {
  const auto found = sockets_.find({rank, stripe});
  return found == sockets_.end() ? -1 : found->second.get();
}

void Mesh::drop(std::size_t rank) {
  std::erase_if(sockets_, [rank](const auto& one) { return one.first.first == rank; });
}

Result<void> Mesh::connect(std::span<const std::size_t> ranks, std::size_t stripes,
                           milliseconds limit) {
  const auto deadline = steady_clock::now() + limit;
  for (const std::size_t rank : ranks) {
    for (std::size_t stripe = 0; stripe < stripes && rank < rank_; ++stripe) {
      if (sockets_.contains({rank, stripe})) continue;
      auto made = TRY(dial(peers_.at(rank), stripe, until(deadline)));
      add({rank, stripe}, std::move(made));
    }
  }
  for (const std::size_t rank : ranks) {
    for (std::size_t stripe = 0; stripe < stripes && rank > rank_; ++stripe) {
      while (!sockets_.contains({rank, stripe})) {
        const auto is_ready = TRY(ready(listener_.get(), POLLIN, until(deadline)));
        if (!is_ready) {
          return fail(fmt::format("{} does not connect to {}", peers_.at(rank).text(),
                                  peers_.at(rank_).text()),
                      fmt::format("no connection came within {} s", limit.count() / 1000),
                      fmt::format("check that {} can reach {} and that no firewall is between them",
                                  peers_.at(rank).host, peers_.at(rank_).address));
        }
        if (auto admitted = admit(greeting_limit); !admitted) return admitted;
      }
    }
  }
  return {};
}

Result<Fd> Mesh::dial(const Peer& peer, std::size_t stripe, milliseconds limit) const {
  const auto address = hosts::Address::parse(peer.address);
  const std::string what =
      fmt::format("connecting to {} at {} port {}", peer.text(), peer.address, peer.port);
  if (!address) return fail(what, "this is not an address");
  Fd socket = hosts::begin_to_connect(*address, peer.port);
  if (!socket) return fail_errno(what);
  send_at_once(socket.get());
  const auto answered = TRY(ready(socket.get(), POLLOUT, limit));
  if (!answered) return fail(what, fmt::format("no answer within {} s", limit.count() / 1000));
  if (const int error = hosts::connection_error(socket)) return fail_errno(error, what);
  Greeting greeting{rank_, stripe, {}};
  std::ranges::copy(token_, greeting.token.begin());
  // The first bytes of a connection always fit into the kernel's buffer.
  const ssize_t sent = ::send(socket.get(), &greeting, sizeof greeting, MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(sizeof greeting)) return fail_errno(what);
  return socket;
}

// Takes one connection in; one without the right greeting is dropped.
Result<void> Mesh::admit(milliseconds limit) {
  Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket) {
    if (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR) return {};
    return fail_errno("accepting a connection of another rank");
  }
  send_at_once(socket.get());
  Greeting greeting;
  const auto deadline = steady_clock::now() + limit;
  for (std::size_t got = 0; got < sizeof greeting;) {
    const auto is_ready = ready(socket.get(), POLLIN, until(deadline));
    if (!is_ready || !*is_ready) return {};
    const ssize_t length =
        ::recv(socket.get(), reinterpret_cast<char*>(&greeting) + got, sizeof greeting - got, 0);
    if (length <= 0) return {};
    got += static_cast<std::size_t>(length);
  }
  if (!std::ranges::equal(greeting.token, token_)) return {};
  add({greeting.rank, greeting.stripe}, std::move(socket));
  return {};
}

void Mesh::add(Key key, Fd socket) {
  const std::size_t rank = key.first;
  const bool is_here = rank < peers_.size() && peers_[rank].node == peers_[rank_].node;
  if (is_here) prepare_for_own_host(socket.get());
  sockets_.emplace(key, std::move(socket));
}

}  // namespace toprun::measure
