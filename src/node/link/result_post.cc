#include "node/link/result_post.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/text/clock.h"
#include "base/text/text.h"
#include "node/link/preamble.h"

namespace toprun::link {
namespace {

constexpr std::string_view word = "result";
constexpr std::size_t token_bytes = 16;
constexpr int max_connections = 16;  // that are looked at: strangers may have come too
constexpr int max_exit_code = 255;
constexpr std::size_t max_message_bytes = 64;

int ms_until(SteadyTime deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::max<std::int64_t>(0, left.count()));
}

std::string message_of(std::string_view token, int exit_code) {
  return fmt::format("{} {}\n", token, exit_code);
}

// A line of at most `max_message_bytes`; what comes later is not waited for.
std::string read_message(const Fd& connection) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + result_read_limit;
  std::string message;
  while (message.size() < max_message_bytes && !message.ends_with('\n')) {
    pollfd waiting{connection.get(), POLLIN, 0};
    if (::poll(&waiting, 1, ms_until(deadline)) <= 0) break;
    std::array<char, max_message_bytes> chunk;
    const ssize_t n = ::read(connection.get(), chunk.data(), chunk.size() - message.size());
    if (n <= 0) break;
    message.append(chunk.data(), static_cast<std::size_t>(n));
  }
  return message;
}

}  // namespace

std::string text_of(const ResultAddress& address) {
  std::string line = fmt::format("{} {} {}", word, address.port, address.token);
  for (const hosts::Address& one : address.addresses) line += ' ' + one.text();
  return line;
}

std::optional<ResultAddress> parse_result_address(std::string_view line) {
  const auto parts = words(line);
  if (parts.size() < 4 || parts.size() > 3 + max_result_addresses || parts[0] != word) return {};
  const auto port = parse_int(parts[1]);
  if (!port || *port < 1 || *port > hosts::max_port) return {};
  ResultAddress found{{}, static_cast<int>(*port), std::string(parts[2])};
  for (std::size_t i = 3; i < parts.size(); ++i) {
    const auto address = hosts::Address::parse(parts[i]);
    if (!address) return {};
    found.addresses.push_back(*address);
  }
  return found;
}

ResultPost::ResultPost(Fd listener, ResultAddress address)
    : listener_(std::move(listener)), address_(std::move(address)) {}

Result<ResultPost> ResultPost::open() {
  auto listener = hosts::listen_on(0);
  if (!listener) return std::unexpected(listener.error().error);
  const auto local = TRY(hosts::local_addresses());
  auto addresses = hosts::reachable_among(local, max_result_addresses);
  if (addresses.empty()) addresses.push_back(hosts::loopback());
  const int port = hosts::port_of(*listener);
  return ResultPost(*std::move(listener), {std::move(addresses), port, random_hex(token_bytes)});
}

std::optional<int> ResultPost::received() {
  for (int i = 0; i < max_connections && !code_; ++i) {
    const Fd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection) return {};
    const std::string message = read_message(connection);
    const auto parts = words(message);
    if (parts.size() != 2 || parts[0] != address_.token || !message.ends_with('\n')) continue;
    const auto code = parse_int(parts[1]);
    if (code && *code >= 0 && *code <= max_exit_code) code_ = static_cast<int>(*code);
  }
  return code_;
}

bool post_result(const ResultAddress& to, int exit_code) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + result_limit;
  const std::string message = message_of(to.token, exit_code);
  std::vector<Fd> sockets;
  std::vector<pollfd> waiting;
  for (const hosts::Address& address : to.addresses) {
    Fd socket = hosts::begin_to_connect(address, to.port);
    if (!socket) continue;
    waiting.push_back({socket.get(), POLLOUT, 0});
    sockets.push_back(std::move(socket));
  }
  while (!waiting.empty()) {
    const int ready = ::poll(waiting.data(), waiting.size(), ms_until(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    for (const pollfd& one : waiting) {
      if (one.revents == 0) continue;
      const ssize_t n = ::send(one.fd, message.data(), message.size(), MSG_NOSIGNAL);
      if (n == static_cast<ssize_t>(message.size())) return true;
    }
    std::erase_if(waiting, [](const pollfd& one) { return one.revents != 0; });
  }
  return false;
}

}  // namespace toprun::link
