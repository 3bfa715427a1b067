#pragma once

#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/text/clock.h"
#include "base/text/error.h"
#include "bench/measure/element.h"

namespace toprun::measure {

struct Outgoing {
  const std::byte* source = nullptr;
  std::size_t bytes = 0;
};

struct Incoming {
  std::byte* target = nullptr;
  // The elements with which transfer() combines the received elements. Null: transfer() only copies
  // the received elements.
  const std::byte* operand = nullptr;
  std::size_t bytes = 0;
};

// Two streams of bytes during a collective: a rank sends one stream over `out_socket`, and receives
// the other over `in_socket`. Byte `head` + k of the outgoing stream may be sent as soon as byte k
// of the incoming stream has been received and processed. So a rank in a ring passes on the first
// bytes of a block of data before the rest of the block has arrived.
struct Lane {
  static constexpr std::size_t no_wait = std::numeric_limits<std::size_t>::max();

  int out_socket = -1;
  int in_socket = -1;
  std::string to;  // for messages: "rank 3 on n1"
  std::string from;
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  std::size_t head = no_wait;
};

// When transfer() had received the first `mark_bytes` bytes, and when it had received all bytes.
// The bytes of all lanes are counted together.
struct Arrival {
  std::size_t mark_bytes = 0;
  std::optional<SteadyTime> mark;  // when `mark_bytes` had arrived
  std::optional<SteadyTime> all;
};

// Transfers the data of all lanes at the same time, on this thread. The sockets are non-blocking.
// Error: a connection broke, or no lane moved data for `stall_limit`. The error names the rank
// whose data is missing. After success, both times in `arrival` are set, unless there were no bytes
// to transfer.
Result<void> transfer(std::span<const Lane> lanes, Combine combine, std::size_t element_bytes,
                      std::chrono::milliseconds stall_limit, Arrival* arrival = nullptr);

}  // namespace toprun::measure
