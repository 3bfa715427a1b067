#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace toprun::store {

// Bounds on what clients may make the server hold. Beyond one the offending connection is closed
// and the server says which limit it was, once per limit and second.
struct Limits {
  std::size_t key_bytes = 8u << 10;        // libuv server of PyTorch: the same
  std::size_t value_bytes = 8u << 20;      // the same; of one request, APPEND may grow beyond
  std::size_t keys_per_request = 131'072;  // the same
  std::size_t request_bytes = 1u << 30;    // one whole request, which is held until complete
  // Keys, values, queues, parked waits, incomplete requests and unread replies together.
  std::size_t total_bytes = std::size_t{4} << 30;
  std::size_t connections = 200'000;
  std::size_t backlog_bytes = 64u << 20;  // replies a connection has not read yet
  // Connections that have not said yet what they are. One more, and the oldest of them is closed.
  // They are given no time: an old PyTorch's client says nothing before its first request.
  std::size_t undecided = 16'384;
};

// How many may be undecided where so many files may be open: the others' places are not theirs.
constexpr std::size_t undecided_among(std::size_t open_files) {
  return open_files / 4 < Limits().undecided ? open_files / 4 : Limits().undecided;
}

// Whether store clients are served. Those that are not are closed as soon as they say what they
// are; visitors never.
enum class Clients : std::uint8_t { refused, served };

// Why a connection is closed by the server.
enum class Refusal : std::uint8_t {
  none,
  // a limit of the same name
  key_bytes,
  value_bytes,
  keys_per_request,
  request_bytes,
  total_bytes,
  connections,
  backlog_bytes,
  // not a limit of ours
  open_files,      // the process has no file descriptor left
  stranger,        // the first bytes are not a PyTorch client's
  unknown_opcode,  // or a second handshake
  not_a_number,    // ADD or BARRIER on a key that holds something else
  not_serving,     // a client while none are served, or one of an attempt that has ended
};
inline constexpr std::size_t refusal_kinds = 13;

// What happened, in words, such as "a key is longer than max-key, 8192 bytes".
std::string refusal_text(Refusal refusal, const Limits& limits);

}  // namespace toprun::store
