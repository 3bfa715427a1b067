#include "node/store/client.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace toprun::store {
namespace {

// No reply holds more; a longer length means that the other side is not a TCPStore.
constexpr std::uint64_t longest_reply_bytes = std::uint64_t{1} << 40;
constexpr std::size_t receive_step_bytes = 1u << 20;

std::unexpected<Error> lost(std::string why) {
  return fail("lost the connection to the store", std::move(why));
}

}  // namespace

Result<Client> Client::connect(const hosts::Address& address, int port,
                               std::chrono::milliseconds timeout) {
  const std::string what =
      fmt::format("cannot connect to the store at {}:{}", address.text(), port);
  Fd socket = hosts::begin_to_connect(address, port);
  if (!socket) return fail_errno(what);
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  Client client(std::move(socket), timeout);
  const auto connected = TRY(client.ready(POLLOUT, timeout));
  if (!connected) return fail(what, "no answer in time");
  if (const int error = hosts::connection_error(client.socket_)) return fail_errno(error, what);
  TRY(client.send(requests::validate()));
  TRY(client.ping());
  return client;
}

Result<bool> Client::ready(short events, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd requested{socket_.get(), events, 0};
    const int count =
        ::poll(&requested, 1, static_cast<int>(std::max(left.count(), std::int64_t{0})));
    if (count > 0) return true;
    if (count == 0) return false;
    if (errno != EINTR) return fail_errno("poll");
  }
}

Result<void> Client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return lost(errno_text(errno));
    const auto writable = TRY(ready(POLLOUT, timeout_));
    if (!writable) return lost("it takes nothing more");
  }
  return {};
}

Result<std::string> Client::receive(std::size_t bytes) {
  std::string received;
  while (received.size() < bytes) {
    const std::size_t before = received.size();
    received.resize(before + std::min(bytes - before, receive_step_bytes));
    const ssize_t length =
        ::recv(socket_.get(), received.data() + before, received.size() - before, 0);
    const int error = errno;
    received.resize(before + static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    if (length > 0 || (length < 0 && error == EINTR)) continue;
    if (length == 0) return lost("the store closed it");
    if (error != EAGAIN) return lost(errno_text(error));
    const auto readable = TRY(ready(POLLIN, timeout_));
    if (!readable) return lost("no answer in time");
  }
  return received;
}

template <class Integer>
Result<Integer> Client::receive_integer() {
  const auto bytes = TRY(receive(sizeof(Integer)));
  Integer number;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

Result<std::string> Client::receive_counted() {
  const auto length = TRY(receive_integer<std::uint64_t>());
  if (length > longest_reply_bytes) return lost("its answer makes no sense");
  return receive(static_cast<std::size_t>(length));
}

Result<std::int64_t> Client::ask_integer(std::string_view request) {
  TRY(send(request));
  return receive_integer<std::int64_t>();
}

Result<std::string> Client::ask_counted(std::string_view request) {
  TRY(send(request));
  return receive_counted();
}

Result<void> Client::ping() {
  constexpr std::uint32_t nonce = 0x746f7072;
  TRY(send(requests::ping(nonce)));
  const auto answer = TRY(receive_integer<std::uint32_t>());
  if (answer != nonce) return lost("its answer to a ping is not the ping's");
  return {};
}

Result<void> Client::set(std::string_view key, std::string_view value) {
  return send(requests::set(key, value));
}

Result<std::string> Client::get(std::string_view key) {
  return ask_counted(requests::get(key));
}

Result<std::int64_t> Client::add(std::string_view key, std::int64_t delta) {
  return ask_integer(requests::add(key, delta));
}

Result<bool> Client::check(std::span<const std::string> keys) {
  TRY(send(requests::check(keys)));
  const auto answer = TRY(receive_integer<std::uint8_t>());
  return answer == store::ready;
}

Result<bool> Client::wait(std::span<const std::string> keys, std::chrono::milliseconds timeout) {
  return await(requests::wait(keys), timeout);
}

Result<bool> Client::await(std::string_view request, std::chrono::milliseconds timeout) {
  TRY(send(request));
  const auto readable = TRY(ready(POLLIN, timeout));
  if (!readable) {
    TRY(send(requests::cancel_wait()));
  }
  const auto answer = TRY(receive_integer<std::uint8_t>());
  if (answer == wait_canceled) return false;
  if (readable) return true;
  // The keys arrived during the cancellation, whose own answer comes next.
  TRY(receive_integer<std::uint8_t>());
  return true;
}

Result<std::vector<std::string>> Client::multi_get(std::span<const std::string> keys) {
  TRY(send(requests::multi_get(keys)));
  std::vector<std::string> values;
  while (values.size() < keys.size()) {
    auto value = TRY(receive_counted());
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace toprun::store
