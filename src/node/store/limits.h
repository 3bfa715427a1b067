#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace toprun::store {

// Limits on the data that clients may make the server hold. If a connection exceeds a limit, it is
// closed, and the server reports which limit it was, once per limit and second.
struct Limits {
  std::size_t key_bytes = 8u << 10;  // same value as in PyTorch's libuv server
  // Same value as there, for one request. APPEND may grow a value beyond this limit.
  std::size_t value_bytes = 8u << 20;
  std::size_t keys_per_request = 131'072;  // same value as there
  std::size_t request_bytes = 1u << 30;    // one whole request, which is held until it is complete
  // Keys, values, queues, pending waits, incomplete requests and unread replies together.
  std::size_t total_bytes = std::size_t{4} << 30;
  std::size_t connections = 200'000;
  std::size_t backlog_bytes = 64u << 20;  // replies that a connection has not read yet
  // Connections whose type is not known yet. If there are more, the oldest of them is closed. Such
  // connections have no time limit, because the client of an old PyTorch sends nothing before its
  // first request.
  std::size_t undecided = 16'384;
};

// How many connections may be undecided if this number of files may be open. The rest is reserved
// for other connections.
constexpr std::size_t undecided_among(std::size_t open_files) {
  return open_files / 4 < Limits().undecided ? open_files / 4 : Limits().undecided;
}

// Whether store clients are served. If not, clients are closed as soon as they are recognised.
// Visitors are never closed.
enum class Clients : std::uint8_t { refused, served };

// Why the server closes a connection.
enum class Refusal : std::uint8_t {
  none,
  // the limit of the same name was exceeded
  key_bytes,
  value_bytes,
  keys_per_request,
  request_bytes,
  total_bytes,
  connections,
  backlog_bytes,
  // reasons that are not limits in Limits
  open_files,      // the process has no file descriptor left
  stranger,        // the first bytes are not from a PyTorch client
  unknown_opcode,  // or a second handshake
  not_a_number,    // ADD or BARRIER on a key whose value is not a number
  not_serving,     // a client while clients are refused, or a client of an attempt that has ended
};
inline constexpr std::size_t refusal_kinds = 13;

// Describes what happened, such as "a key is longer than max-key, 8192 bytes".
std::string refusal_text(Refusal refusal, const Limits& limits);

}  // namespace toprun::store
