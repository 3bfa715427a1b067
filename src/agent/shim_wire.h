#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/fd.h"

namespace toprun::agent {

inline constexpr std::size_t largest_shim_frame_bytes = 16u << 20;
inline constexpr std::size_t most_frame_descriptors = 3;
// The time limit for the rest of a frame: its writer does nothing else meanwhile.
inline constexpr std::chrono::milliseconds shim_frame_limit{5'000};

// A message between agent and shim (agent/shim.h), with the descriptors that it passes.
struct ShimFrame {
  nlohmann::json message;
  std::vector<Fd> descriptors;
};

// Frames on a connected stream socket: u32 length in network order, then CBOR (RFC 8949), which
// allows environments in any encoding; descriptors accompany the length (SCM_RIGHTS, unix(7)). Both
// calls block, for shim_frame_limit at most between two bytes.
Result<void> send_frame(int socket, const nlohmann::json& message,
                        std::span<const int> descriptors = {});
// nullopt: the other side has closed the connection. `limit` applies to the first byte.
Result<std::optional<ShimFrame>> receive_frame(int socket,
                                               std::chrono::milliseconds limit = shim_frame_limit);

// Whether data or the end of the stream can be received within `limit`.
bool readable_within(int socket, std::chrono::milliseconds limit);
// Whether a small frame can be sent without blocking.
bool takes_more(int socket);

}  // namespace toprun::agent
