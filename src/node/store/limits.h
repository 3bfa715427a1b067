#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace toprun::store {

// Limits on the data that the server stores for clients. A connection that exceeds a limit is
// closed. The server reports the exceeded limit at most once per second and limit.
struct Limits {
  std::size_t key_bytes = 8u << 10;  // same value as in PyTorch's libuv server
  // Same value as in PyTorch, for one request. APPEND may grow a value beyond this limit.
  std::size_t value_bytes = 8u << 20;
  std::size_t keys_per_request = 131'072;  // same value as in PyTorch's libuv server
  std::size_t request_bytes = 1u << 30;    // one request, which is buffered until it is complete
  // Keys, values, queues, pending waits, incomplete requests and unread replies together.
  std::size_t total_bytes = std::size_t{4} << 30;
  std::size_t connections = 200'000;
  std::size_t backlog_bytes = 64u << 20;  // replies that one client has not read yet
  // The maximum number of connections of unknown type (undecided). If there are more such
  // connections, the oldest connection is closed. Undecided connections have no time limit, because
  // an old PyTorch client sends nothing before its first request.
  std::size_t undecided = 16'384;
};

// The maximum number of undecided connections if the process may open `open_files` files. The other
// descriptors are reserved for other connections.
constexpr std::size_t undecided_among(std::size_t open_files) {
  return open_files / 4 < Limits().undecided ? open_files / 4 : Limits().undecided;
}

// Whether store clients are served. If not, a client's connection is closed as soon as the client
// is recognised. Visitors are never closed.
enum class Clients : std::uint8_t { refused, served };

// Why the server closes a connection.
enum class Refusal : std::uint8_t {
  none,
  // The limit of the same name was exceeded.
  key_bytes,
  value_bytes,
  keys_per_request,
  request_bytes,
  total_bytes,
  connections,
  backlog_bytes,
  // The following reasons are not limits in Limits.
  open_files,      // the process has no file descriptor left
  stranger,        // the first bytes are not from a PyTorch client
  unknown_opcode,  // an opcode is unknown, or a second handshake arrived
  not_a_number,    // ADD or BARRIER on a key whose value is not a number
  not_serving,     // clients are refused, or the client's attempt has ended
};
inline constexpr std::size_t refusal_kinds = 13;

// Describes the refusal, such as "a key is longer than the limit max-key, 8192 bytes".
std::string refusal_text(Refusal refusal, const Limits& limits);

}  // namespace toprun::store
