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
// A frame comes whole: its writer does nothing else meanwhile.
inline constexpr std::chrono::milliseconds shim_frame_limit{5'000};

// What agent and shim tell each other (agent/shim.h): a message, and descriptors that it hands
// over.
struct ShimFrame {
  nlohmann::json message;
  std::vector<Fd> descriptors;
};

// Frames on a connected stream socket: u32 length in network order, then CBOR (RFC 8949), which
// takes environments in any encoding; descriptors come beside the length (SCM_RIGHTS, unix(7)).
// Both calls block, for shim_frame_limit at most between two bytes.
Result<void> send_frame(int socket, const nlohmann::json& message,
                        std::span<const int> descriptors = {});
// nullopt: the other side is gone. `limit`: for the first byte.
Result<std::optional<ShimFrame>> receive_frame(int socket,
                                               std::chrono::milliseconds limit = shim_frame_limit);

// Whether something, be it the end, is there to be received within `limit`.
bool readable_within(int socket, std::chrono::milliseconds limit);
// Whether a small frame can be sent without a wait.
bool takes_more(int socket);

}  // namespace toprun::agent
