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
  // combined with the received elements; null: the elements are only copied
  const std::byte* operand = nullptr;
  std::size_t bytes = 0;
};

// What one rank sends over one connection and receives over another during a collective: two
// streams of bytes. Byte `head` + k of the outgoing one may leave as soon as byte k of the incoming
// one lies in its place, so a ring passes on what it receives without waiting for whole parts.
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

// When bytes had arrived, over all lanes together.
struct Arrival {
  std::size_t mark_bytes = 0;
  std::optional<SteadyTime> mark;  // so many
  std::optional<SteadyTime> all;
};

// Carries out all lanes at once, on this thread. The sockets are non-blocking. Error: a connection
// broke, or no lane moved data for `stall_limit`; it names the awaited rank. Without an error, both
// times in `arrival` are set if there are bytes.
Result<void> transfer(std::span<const Lane> lanes, Combine combine, std::size_t element_bytes,
                      std::chrono::milliseconds stall_limit, Arrival* arrival = nullptr);

}  // namespace toprun::measure
