#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/os/fd.h"
#include "base/text/error.h"

namespace toprun::process {

// The heartbeat callback. A function that blocks calls this callback at least every beat_interval.
// The heartbeat tells the keeper, the process that watches the agent, that the agent is alive.
// Without heartbeats, the keeper would kill the agent and its ranks after a while. Null: no
// heartbeat.
using Beat = std::function<void()>;
inline constexpr std::chrono::milliseconds beat_interval{200};

inline constexpr std::size_t largest_frame_bytes = 16u << 20;
inline constexpr std::size_t most_frame_descriptors = 3;
// How long send_frame() and receive_frame() wait for the next bytes of a frame. This limit can be
// short, because the sender writes the whole frame without a pause.
inline constexpr std::chrono::milliseconds frame_limit{5'000};

// A message between two processes on a node, and the file descriptors sent with it.
struct Frame {
  std::vector<std::uint8_t> bytes;
  std::vector<Fd> descriptors;
};

// Sends a frame on a connected stream socket: a u32 length in network order, then the bytes. The
// descriptors accompany the length (SCM_RIGHTS, unix(7)). Each of send_frame() and receive_frame()
// waits at most frame_limit for the next byte. While they wait, they call `beat`. Errors name
// `peer`.
Result<void> send_frame(int socket, std::span<const std::uint8_t> bytes,
                        std::span<const int> descriptors, const std::string& peer,
                        const Beat& beat = {});
// Receives a frame; `limit` is the time limit for its first byte. nullopt: the peer has closed the
// connection.
Result<std::optional<Frame>> receive_frame(int socket, std::chrono::milliseconds limit,
                                           const std::string& peer, const Beat& beat = {});

// Waits until data or the end of the stream can be received. Returns false if `limit` passes
// before.
bool readable_within(int socket, std::chrono::milliseconds limit, const Beat& beat = {});
// Whether a small frame can be sent without blocking.
bool takes_more(int socket);

}  // namespace toprun::process
